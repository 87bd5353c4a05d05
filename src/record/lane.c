/* lane.c - one writer of events: its chunk and its records */
#include "record/lane.h"

#include <string.h>

#include "platform/os.h"

enum {
  LARGEST_CHUNK_BYTES = 256 << 10, /* some 50,000 events; populating it takes about as long as recording 500 */
  RECORD_HEAD_BYTES = 2 + 2 * HWI_VARINT_MAX_BYTES, /* op, long dt, type, length */
};

/* A chunk that was filled in less than this asks for a larger one. */
static uint64_t quick_fill(void)
{
  return hwi_session.clock == HW_CLOCK_TSC ? UINT64_C(500) << 20 : 250000000u; /* about a quarter of a second */
}

bool hwi_grow(void **items, uint32_t *room, uint32_t count, uint32_t bytes)
{
  size_t page = HWI_OS_PAGE_BYTES;
  size_t new_bytes = ((size_t)count * bytes + page - 1) & ~(page - 1);
  size_t old_bytes = ((size_t)*room * bytes + page - 1) & ~(page - 1);
  void *new = hwi_os_map(new_bytes), *old = *items;
  if (!new)
    return false;
  if (old)
    memcpy(new, old, (size_t)*room * bytes);
  *items = new;
  atomic_signal_fence(memory_order_seq_cst);
  *room = (uint32_t)(new_bytes / bytes);
  atomic_signal_fence(memory_order_seq_cst);
  if (old)
    hwi_os_unmap(old, old_bytes);
  return true;
}

void hwi_lane_retire(struct hwi_lane *lane)
{
  struct hw_chunk_header *chunk = lane->chunk;
  lane->at = lane->end = NULL;
  lane->chunk = NULL;
  atomic_signal_fence(memory_order_seq_cst); /* abandoned from here on, the chunk only stays open */
  if (chunk)
    hwi_writer_retire(&hwi_session.writer, chunk, lane->chunk_bytes);
}

static uint32_t next_chunk_bytes(const struct hwi_lane *lane, uint64_t now, uint32_t need)
{
  uint32_t bytes = HW_CHUNK_MIN_BYTES;
  if (lane->chunk_bytes) {
    bytes = lane->chunk_bytes;
    if (now - lane->chunk_began < quick_fill() && bytes < LARGEST_CHUNK_BYTES)
      bytes *= 2;
    else if (now - lane->chunk_began > 8 * quick_fill() && bytes > HW_CHUNK_MIN_BYTES)
      bytes /= 2;
  }
  while (bytes < need + sizeof(struct hw_chunk_header))
    bytes *= 2;
  return bytes;
}

static bool begin_chunk(struct hwi_lane *lane, uint32_t bytes)
{
  if (atomic_load_explicit(&hwi_session.phase, memory_order_relaxed) != HWI_PHASE_ON)
    return false;
  uint64_t now = hwi_session_clock();
  uint32_t chunk_bytes = next_chunk_bytes(lane, now, bytes);
  hwi_lane_retire(lane);
  struct hw_chunk_header like = {
      .stream = lane->stream,
      .sequence = lane->sequence,
      .thread = lane->thread,
      .fields = hwi_session.keep_usable ? HW_FIELD_USABLE : 0,
      .base_tick = lane->last_tick,
      .base_address = lane->last_address,
  };
  enum hw_trace_state reason = HW_STATE_RECORDING;
  struct hw_chunk_header *chunk = hwi_writer_chunk(&hwi_session.writer, chunk_bytes, &like, &reason);
  if (!chunk) {
    hwi_session_stop(reason);
    return false;
  }
  lane->sequence++;
  lane->chunk_bytes = chunk_bytes;
  lane->chunk_began = now;
  lane->last_node_address = lane->last_node = 0;
  memset(lane->recent_nodes, 0, sizeof lane->recent_nodes);
  lane->at = (uint8_t *)(chunk + 1);
  lane->end = (uint8_t *)chunk + chunk_bytes;
  lane->chunk = chunk;
  lane->is_new_chunk = true;
  hwi_session_note_time();
  return true;
}

/* No handler may leave in between by longjmp: the lane and the file must agree on which chunk is whose. */
bool hwi_lane_reserve_slow(struct hwi_lane *lane, uint32_t bytes)
{
  uint64_t held = hwi_os_hold_signals();
  bool has_room = begin_chunk(lane, bytes);
  hwi_os_release_signals(held);
  return has_room;
}

bool hwi_lane_put_record(struct hwi_lane *lane, enum hw_record_type type, const uint8_t *head, uint32_t head_bytes,
                         const char *text, uint32_t text_bytes)
{
  if (!hwi_lane_reserve(lane, RECORD_HEAD_BYTES + head_bytes + text_bytes))
    return false;
  uint8_t *at = hwi_lane_begin(lane, HW_OP_RECORD, lane->last_tick);
  *at++ = (uint8_t)type;
  at = hwi_put_varint(at, head_bytes + text_bytes);
  if (head_bytes)
    memcpy(at, head, head_bytes);
  if (text_bytes)
    memcpy(at + head_bytes, text, text_bytes);
  hwi_lane_commit(lane, at + head_bytes + text_bytes);
  return true;
}
