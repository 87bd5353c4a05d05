/* pending_free.c - pending frees: those that are being timed, so that they have begun but are not written yet */
#include "record/events/pending_free.h"

#include "record/events/stream.h"

void hwi_pending_free_begin(struct hwi_lane *lane, const struct hwi_pending_free *pending_free)
{
  lane->pending_free = *pending_free;
  atomic_signal_fence(memory_order_seq_cst);
  hwi_lane_call(lane, HWI_LANE_HAS_PENDING_FREE);
}

void hwi_pending_free_write(struct hwi_lane *lane, uint64_t took)
{
  lane->attention &=
      (uint8_t)~HWI_LANE_HAS_PENDING_FREE; /* abandoned after this, the event is lost, but never written twice */
  atomic_signal_fence(memory_order_seq_cst);
  hwi_lane_put_free(lane, &lane->pending_free, took);
}

void hwi_pending_free_settle(const void *block, uint64_t took)
{
  struct hwi_thread_stream *self = hwi_stream_self;
  for (int i = 0; i < 2 && self; i++) {
    struct hwi_lane *lane = &self->lanes[i];
    if (lane->busy || !(lane->attention & HWI_LANE_HAS_PENDING_FREE))
      continue;
    lane->busy = (uintptr_t)__builtin_frame_address(0);
    atomic_signal_fence(memory_order_seq_cst); /* from here on no handler writes it */
    bool is_it = (lane->attention & HWI_LANE_HAS_PENDING_FREE) && lane->pending_free.block == block;
    if (is_it)
      hwi_pending_free_write(lane, took);
    hwi_stream_leave(lane);
    if (is_it)
      return;
  }
}
