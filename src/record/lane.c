/* lane.c - one writer of events: its chunk and its records */
#include "record/lane.h"

#include <string.h>

#include "platform/os.h"
#include "record/own_ranges.h"

enum {
  LARGEST_CHUNK_BYTES = 256 << 10,                  /* about 50,000 events */
  RECORD_HEAD_BYTES = 2 + 2 * HWI_VARINT_MAX_BYTES, /* op, long dt, type, length */
};

/* If a chunk was filled in less than this time, about a quarter of a second, the next one is larger. */
static uint64_t quick_fill(void)
{
  return hwi_session.clock == HW_CLOCK_TSC ? hwi_arch_clock_quarter_second() : 250000000u;
}

bool hwi_lane_grow(void **items, uint32_t *room, uint32_t count, uint32_t bytes)
{
  size_t page = HWI_OS_PAGE_BYTES;
  size_t new_bytes = ((size_t)count * bytes + page - 1) & ~(page - 1);
  size_t old_bytes = ((size_t)*room * bytes + page - 1) & ~(page - 1);
  void *new = hwi_os_map(new_bytes), *old = *items;
  if (!new)
    return false;
  if (old)
    memcpy(new, old, (size_t)*room * bytes);
  hwi_own_ranges_add(new, new_bytes, old);
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
  atomic_signal_fence(memory_order_seq_cst); /* if abandoned from here on, the chunk only stays open */
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
  while (bytes < need + sizeof(struct hw_chunk_header) + HW_COUNTS_OFF + HW_COUNTS * sizeof(uint64_t))
    bytes *= 2;
  return bytes;
}

/* Puts lane->new_chunk into the trace. A handler may leave this function at any instruction by longjmp; the lane and
 * the file must then agree which chunk has which sequence number. So the operation is noted in lane->new_chunk first,
 * and it may be repeated without harm. */
static void publish(struct hwi_lane *lane)
{
  atomic_signal_fence(memory_order_seq_cst);
  hwi_writer_publish(lane->new_chunk.chunk);
  lane->sequence = lane->new_chunk.sequence + 1;
  atomic_signal_fence(memory_order_seq_cst);
}

void hwi_lane_recover(struct hwi_lane *lane)
{
  struct hwi_new_chunk new = lane->new_chunk;
  if (new.chunk) {
    publish(lane);
    lane->new_chunk.chunk = NULL;
    if (new.chunk != lane->chunk)
      hwi_writer_retire(&hwi_session.writer, new.chunk, new.bytes);
  }
  hwi_lane_retire(lane);
  lane->chunk_bytes = 0; /* the next is small: if many events are abandoned, each takes a chunk of the window */
}

/* Returns whether the open chunk has room for `bytes` more, if more of it is made writable. */
static bool has_room(const struct hwi_lane *lane, uint32_t bytes)
{
  return lane->chunk && (uintptr_t)lane->chunk + lane->chunk_bytes - (uintptr_t)lane->at >= bytes;
}

static bool extend(struct hwi_lane *lane, uint32_t bytes)
{
  while ((size_t)(lane->end - lane->at) < bytes)
    if (!hwi_writer_extend(&lane->end)) {
      hwi_session_stop(HW_STATE_STOPPED_DISK);
      return false;
    }
  return true;
}

/* Begins the chunk of a sample with its counts. Returns the end of what was written. */
static uint8_t *put_counts(struct hw_chunk_header *chunk)
{
  static const uint8_t head[] = {HW_OP_RECORD, HW_RECORD_COUNTS, HW_COUNTS_BYTES};
  uint8_t *at = (uint8_t *)(chunk + 1); /* of zeros */
  memcpy(at, head, sizeof head);
  const uint32_t of[] = {chunk->thread, chunk->stream, chunk->sequence};
  memcpy(at + sizeof head + HW_COUNTS_THREAD_OFF, of, sizeof of);
  chunk->valid_bytes = HW_COUNTS_OFF + HW_COUNTS * sizeof(uint64_t);
  return at + chunk->valid_bytes;
}

static bool begin_chunk(struct hwi_lane *lane, uint32_t bytes)
{
  uint64_t now = hwi_session_clock();
  uint32_t chunk_bytes = next_chunk_bytes(lane, now, bytes);
  hwi_lane_retire(lane);
  struct hw_chunk_header like = {
      .stream = lane->stream,
      .sequence = lane->sequence,
      .thread = lane->thread,
      .fields = hwi_session.fields,
      .base_tick = lane->last_tick,
      .base_address = lane->last_address,
  };
  enum hw_trace_state reason = HW_STATE_RECORDING;
  uint8_t *end;
  struct hw_chunk_header *chunk = hwi_writer_chunk(&hwi_session.writer, chunk_bytes, &like, &end, &reason);
  if (!chunk) {
    hwi_session_stop(reason);
    return false;
  }
  uint8_t *at = hwi_session.fields & HW_FIELD_SAMPLED ? put_counts(chunk) : (uint8_t *)(chunk + 1);
  lane->new_chunk.bytes = chunk_bytes;
  lane->new_chunk.sequence = like.sequence;
  atomic_signal_fence(memory_order_seq_cst);
  lane->new_chunk.chunk = chunk; /* if abandoned before this, the part of the window is a hole */
  publish(lane);
  lane->chunk_bytes = chunk_bytes;
  lane->chunk_began = now;
  lane->last_node_address = lane->last_node = 0;
  for (int i = 0; i < HW_RECENT_SLOTS; i++)
    lane->recent[i].node = 0;
  lane->at = at;
  lane->end = end;
  lane->chunk = chunk;
  hwi_lane_request_attention(lane, HWI_LANE_NEW_CHUNK);
  atomic_signal_fence(memory_order_seq_cst);
  lane->new_chunk.chunk = NULL;
  hwi_session_note_time();
  return extend(lane, bytes);
}

void hwi_lane_begin_last_chunk(struct hwi_lane *lane)
{
  begin_chunk(lane, LARGEST_CHUNK_BYTES / 2);
}

bool hwi_lane_reserve_slow(struct hwi_lane *lane, uint32_t bytes)
{
  if (atomic_load_explicit(&hwi_session.phase, memory_order_relaxed) != HWI_PHASE_ON || hwi_os_is_sealed())
    return false; /* a sealed thread's chunk was made writable completely (hwi_lane_begin_last_chunk) */
  return has_room(lane, bytes) ? extend(lane, bytes) : begin_chunk(lane, bytes);
}

enum hw_loss hwi_lane_loss(void)
{
  return hwi_os_is_sealed() ? HW_LOSS_STRICT : HW_LOSS_FULL;
}

void hwi_lane_put_free(struct hwi_lane *lane, const struct hwi_pending_free *free, uint64_t took)
{
  if (hwi_lane_reserve(lane, HW_EVENT_MAX_BYTES))
    hwi_lane_put_reserved_free(lane, free, hwi_session.fields, took);
  else
    hwi_session_lose(hwi_lane_loss());
}

void hwi_pending_free_begin(struct hwi_lane *lane, const struct hwi_pending_free *pending_free)
{
  lane->pending_free = *pending_free;
  atomic_signal_fence(memory_order_seq_cst);
  hwi_lane_request_attention(lane, HWI_LANE_HAS_PENDING_FREE);
}

void hwi_pending_free_write(struct hwi_lane *lane, uint64_t took)
{
  lane->attention &=
      (uint8_t)~HWI_LANE_HAS_PENDING_FREE; /* abandoned after this, the event is lost, but never written twice */
  atomic_signal_fence(memory_order_seq_cst);
  hwi_lane_put_free(lane, &lane->pending_free, took);
}

bool hwi_lane_put_record(struct hwi_lane *lane, enum hw_record_type type, struct hwi_bytes head, struct hwi_bytes text)
{
  if (!hwi_lane_reserve(lane, RECORD_HEAD_BYTES + head.count + text.count))
    return false;
  uint8_t *at = hwi_lane_begin(lane, HW_OP_RECORD, lane->last_tick);
  *at++ = (uint8_t)type;
  at = hwi_put_varint(at, head.count + text.count);
  if (head.count)
    memcpy(at, head.at, head.count);
  if (text.count)
    memcpy(at + head.count, text.at, text.count);
  hwi_lane_commit(lane, at + head.count + text.count);
  return true;
}
