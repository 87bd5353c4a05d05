/* event.h - an event, from the entry point's call to its bytes in the trace: the whole hot path
 *
 * usual      an event is usual if its thread has a lane that needs no check, if nothing but its bytes must be recorded,
 *            and if its caller is not the loader. The code for usual events is inlined into the entry points, down to
 *            the comparison of the stack with the previous one (walk.h): a call for each part would cost as much as the
 *            work. record.c handles all other events.
 */
#ifndef HWI_RECORD_EVENTS_EVENT_H
#define HWI_RECORD_EVENTS_EVENT_H

#include "platform/arch.h"
#include "platform/os_inline.h"
#include "record/events/stream.h"
#include "record/lane.h"
#include "record/record.h"
#include "record/runtime/call_timer.h"
#include "record/runtime/real.h"
#include "record/sampled_blocks.h"
#include "record/session.h"
#include "record/unwind/nodes.h"
#include "record/unwind/walk.h"

#define HWI_EVENT_INLINE static inline __attribute__((always_inline))
#define HWI_EVENT_FRAME() ((uintptr_t)__builtin_frame_address(0))

/* Reports an allocation (see hwi_record_alloc). If it is not usual, does nothing and returns false. */
HWI_EVENT_INLINE bool hwi_event_alloc(struct hwi_caller caller, enum hw_entry entry, size_t size, void *block);

/* Reports a free (see hwi_record_free). If it is not usual, does nothing and returns false. */
HWI_EVENT_INLINE bool hwi_event_free(uintptr_t caller_pc, enum hw_entry entry, void *block);

/* --- time --- */

/* Returns a time of the TSC that is later than that of any event of another thread that the block depends on. For an
 * allocation, called after the real allocator returned, that is the free that made room for it; for a free, called before
 * the real free, it is the block's own allocation. In both cases earlier loads must be complete: otherwise a processor may
 * read its counter while the load of the pointer to be freed still waits for another processor's cache, before the block
 * was even allocated. */
static inline uint64_t hwi_event_tsc(void)
{
  return *hwi_session.is_single_threaded ? hwi_arch_clock() : hwi_arch_clock_after_loads();
}

/* The same as a tick. */
static inline uint64_t hwi_event_tick_of_tsc(void)
{
  return hwi_event_tsc() >> HWI_TICK_SHIFT_TSC;
}

/* The same for any clock. */
static inline uint64_t hwi_event_tick(void)
{
  return __builtin_expect(hwi_session.has_odd_clock, 0) ? hwi_session_odd_tick() : hwi_event_tick_of_tsc();
}

/* The same, in parts of a tick (HW_TICK_PART_BITS). */
static inline uint64_t hwi_event_tick_parts(void)
{
  return __builtin_expect(hwi_session.has_odd_clock, 0) ? hwi_session_odd_tick_parts()
                                                        : hwi_event_tsc() >> (HWI_TICK_SHIFT_TSC - HW_TICK_PART_BITS);
}

/* --- an allocation's bytes: put together for the usual fields, known to the compiler, and for any --- */

struct hwi_allocation {
  uint64_t tick;
  size_t size;
  void *block;
  uint32_t node;
  bool assumes_usable; /* malloc_usable_size must not be called for the block: see record.c */
};

/* Returns the usable size of a block if it is recorded, else 0. */
HWI_EVENT_INLINE uint64_t hwi_event_usable(uint8_t fields, void *block)
{
  return fields & HW_FIELD_USABLE ? HWI_REAL(MALLOC_USABLE_SIZE, hwi_usable_size_fn)(block) : 0;
}

HWI_EVENT_INLINE uint64_t hwi_event_usable_of(uint8_t fields, const struct hwi_allocation *made)
{
  if (made->assumes_usable)
    return fields & HW_FIELD_USABLE ? hw_usual_usable(made->size) : 0;
  return hwi_event_usable(fields, made->block);
}

HWI_EVENT_INLINE uint8_t *hwi_event_put_size(uint8_t fields, uint8_t *at, uint64_t size, uint64_t usable)
{
  if (!(fields & HW_FIELD_USABLE))
    return hwi_put_varint(at, size);
  bool odd = usable != hw_usual_usable(size);
  at = hwi_put_varint(at, size << 1 | odd); /* no allocator grants a size so large that its top bit would be lost */
  return odd ? hwi_put_varint(at, hwi_zigzag((int64_t)(usable - hw_usual_usable(size)))) : at;
}

/* Writes the duration of the call that returned `block`, if durations are recorded. Returns the end of what was
 * written. */
HWI_EVENT_INLINE uint8_t *hwi_event_put_took(uint8_t fields, uint8_t *at, const void *block)
{
  return fields & HW_FIELD_DURATION ? hwi_put_varint(at, hwi_call_timer_took(block)) : at;
}

/* Slots save most of an allocation's bytes: at a time, a program allocates in few places, and each place mostly
 * allocates the same size. The caller has reserved HW_EVENT_MAX_BYTES. */
HWI_EVENT_INLINE void hwi_event_put_alloc(uint8_t fields, struct hwi_lane *lane, const struct hwi_allocation *made)
{
  uint32_t node = made->node;
  uint8_t slot = hw_recent_slot(node), *at;
  struct hwi_own_alloc *recent = &lane->recent[slot];
  uint64_t usable = hwi_event_usable_of(fields, made), base = recent->address;
  if (__builtin_expect(recent->node != node || !node, 0)) {
    at = hwi_put_varint(hwi_lane_begin(lane, HW_OP_ALLOC, made->tick), node);
    at = hwi_event_put_size(fields, at, made->size, usable);
    recent->node = node;
    base = lane->last_address;
  } else if (recent->size == made->size && recent->usable == usable) {
    at = hwi_lane_begin(lane, HW_OP_ALLOC_AGAIN, made->tick);
    *at++ = slot;
  } else {
    at = hwi_lane_begin(lane, HW_OP_ALLOC_RECENT, made->tick);
    *at++ = slot;
    at = hwi_event_put_size(fields, at, made->size, usable);
  }
  recent->size = made->size;
  recent->usable = usable;
  recent->address = (uintptr_t)made->block;
  at = hwi_lane_put_address(lane, at, (uintptr_t)made->block, base);
  hwi_lane_commit(lane, hwi_event_put_took(fields, at, made->block));
}

/* --- what is usual --- */

static inline bool hwi_event_is_paused(void)
{
  return __atomic_load_n(&hwi_session.header->control, __ATOMIC_RELAXED) == HW_CONTROL_PAUSE;
}

/* --- calls that are not events of a sample: they are only counted --- */

/* Returns the stream for such a call, which is counted in its lane 0; NULL: it needs the slow path. */
static inline __attribute__((always_inline)) struct hwi_thread_stream *hwi_event_skipping_stream(void)
{
  struct hwi_thread_stream *self = hwi_stream_self;
  uint32_t live = atomic_load_explicit(&hwi_session.liveness->live, memory_order_relaxed);
  return __builtin_expect(!self || self->lanes[0].skip_epoch != live || self->lanes[0].busy, 0) ? NULL : self;
}

static inline void hwi_event_count_alloc(const struct hwi_lane *lane, size_t size)
{
  uint64_t *counts = hwi_lane_counts(lane);
  hwi_arch_add(&counts[HW_COUNT_ALLOCATIONS], 1);
  hwi_arch_add(&counts[HW_COUNT_BYTES], size);
}

static inline void hwi_event_count_free(const struct hwi_lane *lane)
{
  hwi_arch_add(&hwi_lane_counts(lane)[HW_COUNT_FREES], 1);
}

/* Counts an allocation, and the free of another block if it `moves` one, and returns true, if neither is an event; otherwise does
 * nothing. The free is known to be none. */
HWI_EVENT_INLINE bool hwi_event_skip(uintptr_t caller_pc, size_t size, bool moves)
{
  struct hwi_thread_stream *self = hwi_event_skipping_stream();
  if (__builtin_expect(!self || hwi_callers_have(&hwi_session.slow_alloc_callers, caller_pc), 0))
    return false;
  struct hwi_lane *lane = &self->lanes[0];
  hwi_stream_take(lane, HWI_EVENT_FRAME());
  bool is_paused = __builtin_expect(hwi_event_is_paused(), 0),
       is_skipped = is_paused || hwi_sampler_skips(&self->sampler, size);
  if (is_skipped && !is_paused)
    hwi_event_count_alloc(lane, size);
  if (is_skipped && moves)
    hwi_event_count_free(lane);
  hwi_stream_leave(lane);
  return is_skipped;
}

HWI_EVENT_INLINE bool hwi_event_skip_alloc(uintptr_t caller_pc, size_t size)
{
  return hwi_event_skip(caller_pc, size, false);
}

/* The same for a free. */
HWI_EVENT_INLINE bool hwi_event_skip_free(uintptr_t caller_pc, void *block)
{
  struct hwi_thread_stream *self = hwi_event_skipping_stream();
  if (__builtin_expect(!self || hwi_callers_have(&hwi_session.slow_free_callers, caller_pc), 0) ||
      __builtin_expect(hwi_sampled_blocks_may_have(block), 0))
    return false;
  hwi_stream_take(&self->lanes[0], HWI_EVENT_FRAME());
  hwi_event_count_free(&self->lanes[0]);
  hwi_stream_leave(&self->lanes[0]);
  return true;
}

/* Returns whether hwi_record_realloc_begin has nothing to do for a block that is about to be reallocated. */
HWI_EVENT_INLINE bool hwi_event_may_skip_realloc(void *old)
{
  return hwi_event_skipping_stream() && !hwi_sampled_blocks_may_have(old);
}

/* Returns the node of the stack in which `caller` called the entry; 0 if it has none, which is counted. */
uint32_t hwi_event_node(struct hwi_lane *lane, const struct hwi_caller *caller, enum hw_entry entry);

/* The rest of an event whose stack has no node, or whose chunk has no room; called after the walk. */
void hwi_event_finish_alloc(struct hwi_lane *lane, struct hwi_allocation made);
void hwi_event_finish_free(struct hwi_lane *lane, struct hwi_pending_free whole);

/* In both functions, all state that a signal handler on this thread may change is read after hwi_stream_take. A handler
 * that runs later finds the lane busy and writes into the other lane; if it forks, everything stays mapped. */

HWI_EVENT_INLINE bool hwi_event_alloc(struct hwi_caller caller, enum hw_entry entry, size_t size, void *block)
{
  struct hwi_lane *lane = hwi_stream_usual_lane();
  if (__builtin_expect(!lane || hwi_callers_have(&hwi_session.slow_alloc_callers, caller.pc), 0))
    return false;
  hwi_stream_take(lane, HWI_EVENT_FRAME());
  if (__builtin_expect(hwi_event_is_paused(), 0)) {
    hwi_stream_leave(lane);
    return false;
  }
  uint64_t tick = hwi_event_tick_of_tsc();
  uint32_t node = hwi_walk_quickly(lane, caller, (uint8_t)entry);
  const struct hwi_allocation made = {tick, size, block, node, false};
  if (__builtin_expect(node != HWI_NODE_UNKNOWN && hwi_lane_has_room(lane, HW_EVENT_MAX_BYTES), 1))
    hwi_event_put_alloc(HW_FIELD_USABLE, lane, &made);
  else
    hwi_event_finish_alloc(lane, made);
  hwi_stream_leave(lane);
  return true;
}

HWI_EVENT_INLINE bool hwi_event_free(uintptr_t caller_pc, enum hw_entry entry, void *block)
{
  struct hwi_lane *lane = hwi_stream_usual_lane();
  if (__builtin_expect(!lane || hwi_callers_have(&hwi_session.slow_free_callers, caller_pc), 0))
    return false;
  hwi_stream_take(lane, HWI_EVENT_FRAME());
  const struct hwi_pending_free whole = {hwi_event_tick_of_tsc(), block, (uint8_t)entry};
  if (__builtin_expect(hwi_lane_has_room(lane, HW_EVENT_MAX_BYTES), 1))
    hwi_lane_put_reserved_free(lane, &whole, 0, 0);
  else
    hwi_event_finish_free(lane, whole);
  hwi_stream_leave(lane);
  return true;
}

#endif
