/* record.c - events, except the usual cases, which are in event.h */
#include "record/record.h"

#include "platform/arch.h"
#include "platform/os.h"
#include "record/events/event.h"
#include "record/events/stream.h"
#include "record/lane.h"
#include "record/runtime/call_timer.h"
#include "record/runtime/operators.h"
#include "record/session.h"
#include "record/unwind/nodes.h"
#include "record/unwind/walk.h"

static inline uint8_t log2_of(size_t align)
{
  return align ? (uint8_t)__builtin_ctzl(align) : 0;
}

/* Counts each event whose stack has no node, unless the trace is full: then the event is lost anyway. */
static __attribute__((cold, noinline)) uint32_t no_node(const struct hwi_lane *lane)
{
  bool is_full = hwi_os_is_sealed() && !hwi_lane_has_room(lane, HW_EVENT_MAX_BYTES);
  if (atomic_load_explicit(&hwi_session.phase, memory_order_relaxed) == HWI_PHASE_ON && !is_full)
    hwi_session_count(&hwi_session.node_limit_hits, &hwi_session.header->node_limit_hits);
  return 0;
}

static inline uint32_t known_node(const struct hwi_lane *lane, uint32_t node)
{
  return __builtin_expect(node == HWI_NODE_UNKNOWN, 0) ? no_node(lane) : node;
}

uint32_t hwi_event_node(struct hwi_lane *lane, const struct hwi_caller *caller, enum hw_entry entry)
{
  return known_node(lane, hwi_walk(lane, caller, (uint8_t)entry));
}

/* Returns whether malloc_usable_size must not be called. The block of a foreign operator may not be a block of malloc.
 * And if a signal handler has interrupted an event, the allocator may be in the middle of its malloc_usable_size. */
static bool assumes_usable(const struct hwi_lane *lane, enum hw_entry entry)
{
  bool is_nested = lane != &hwi_stream_self->lanes[0];
  return is_nested || hwi_operator_modes[entry] == HWI_OPERATOR_FOREIGN;
}

static void put_aligned(struct hwi_lane *lane, const struct hwi_allocation *made, size_t align)
{
  uint8_t fields = hwi_session.fields, *at = hwi_lane_begin(lane, HW_OP_ALLOC_ALIGNED, made->tick);
  *at++ = log2_of(align);
  at = hwi_put_varint(at, made->node);
  at = hwi_event_put_size(fields, at, made->size, hwi_event_usable_of(fields, made));
  at = hwi_lane_put_address(lane, at, (uintptr_t)made->block, lane->last_address);
  hwi_lane_commit(lane, hwi_event_put_took(fields, at, made->block));
}

/* Writes an allocation with the session's fields; `align` as in hwi_record_alloc. */
static void put_alloc(struct hwi_lane *lane, const struct hwi_allocation *made, size_t align)
{
  if (!hwi_lane_reserve(lane, HW_EVENT_MAX_BYTES))
    hwi_session_lose(hwi_lane_loss());
  else if (align)
    put_aligned(lane, made, align);
  else
    hwi_event_put_alloc(hwi_session.fields, lane, made);
}

__attribute__((cold)) void hwi_event_finish_alloc(struct hwi_lane *lane, struct hwi_allocation made)
{
  made.node = known_node(lane, made.node);
  put_alloc(lane, &made, 0);
}

__attribute__((cold)) void hwi_event_finish_free(struct hwi_lane *lane, struct hwi_pending_free whole)
{
  hwi_lane_put_free(lane, &whole, 0);
}

/* --- counts for the program --- */

static inline bool is_counted(const struct hwi_lane *lane)
{
  return __builtin_expect(lane->attention & HWI_LANE_COUNTS, 0);
}

static __attribute__((cold, noinline)) void count_alloc(const struct hwi_lane *lane, enum hw_entry entry, size_t size,
                                                        void *block)
{
  struct hwi_thread_counts *counts = &hwi_stream_self->counts;
  counts->allocation_calls++;
  counts->allocated_bytes += size;
  counts->net_bytes +=
      (int64_t)(assumes_usable(lane, entry) ? hw_usual_usable(size) : hwi_event_usable(HW_FIELD_USABLE, block));
}

static __attribute__((cold, noinline)) void count_free(const struct hwi_lane *lane, enum hw_entry entry, void *block)
{
  struct hwi_thread_counts *counts = &hwi_stream_self->counts;
  counts->free_calls++;
  if (!assumes_usable(lane, entry))
    counts->net_bytes -= (int64_t)hwi_event_usable(HW_FIELD_USABLE, block);
}

static __attribute__((cold, noinline)) void count_realloc(const struct hwi_lane *lane, const struct hwi_realloc *call)
{
  struct hwi_thread_counts *counts = &hwi_stream_self->counts;
  count_alloc(lane, call->entry, call->size, call->block);
  counts->free_calls++;
  counts->net_bytes -= (int64_t)counts->moved_bytes;
}

struct hwi_thread_counts hwi_record_counts(void)
{
  struct hwi_lane *lane = hwi_stream_enter(HWI_EVENT_FRAME());
  if (!lane)
    return (struct hwi_thread_counts){0};
  struct hwi_thread_stream *self = hwi_stream_self;
  for (int i = 0; i < 2 && !self->counts.is_on; i++)
    hwi_lane_request_attention(&self->lanes[i], HWI_LANE_COUNTS);
  self->counts.is_on = true;
  struct hwi_thread_counts counts = self->counts;
  hwi_stream_leave(lane);
  return counts;
}

/* --- samples --- */

static inline bool is_sample(void)
{
  return hwi_session.fields & HW_FIELD_SAMPLED;
}

/* Returns whether the lane has a chunk, which has the thread's counts. If it cannot get one, the call is lost. */
static bool has_counts(struct hwi_lane *lane)
{
  if (__builtin_expect(lane->chunk || hwi_lane_reserve(lane, HW_EVENT_MAX_BYTES), 1))
    return true;
  hwi_session_lose(hwi_lane_loss());
  return false;
}

/* Counts an allocation, and returns whether it is an event. */
static bool is_sampled_alloc(struct hwi_lane *lane, size_t size, void *block)
{
  struct hwi_thread_stream *self = hwi_stream_self;
  if (!has_counts(lane))
    return false;
  hwi_event_count_alloc(lane, size);
  if (hwi_sampler_skips(&self->sampler, size))
    return false;
  hwi_sampler_draw(&self->sampler, (uintptr_t)block);
  if (hwi_sampled_blocks_add(block, self->thread))
    return true;
  hwi_session_lose(HW_LOSS_MEMORY); /* its free could not be found */
  return false;
}

/* Removes a block that is about to be freed. Returns whether its allocation was an event. */
static bool take_sampled(const void *block)
{
  struct hwi_thread_stream *self = hwi_stream_self;
  uint32_t thread;
  if (!hwi_sampled_blocks_may_have(block) || !hwi_sampled_blocks_take(block, &thread))
    return false;
  if (self && self->sampler.newest == (uintptr_t)block && thread != hwi_sampled_thread(self->thread))
    self->sampler.newest = 0; /* another thread freed that block, and this one is at the same address */
  return true;
}

/* Returns whether the thread has allocated nothing after this block, which was an event. */
static bool is_temporary(const void *block)
{
  const struct hwi_sampler *sampler = &hwi_stream_self->sampler;
  return sampler->newest == (uintptr_t)block && sampler->countdown == sampler->drawn;
}

/* In the chunk of the event that comes next. */
static void put_temporary(struct hwi_lane *lane)
{
  if (hwi_lane_reserve(lane, 2 * HW_EVENT_MAX_BYTES))
    hwi_lane_put_record(lane, HW_RECORD_TEMPORARY, (struct hwi_bytes){0}, (struct hwi_bytes){0});
}

static void count_sampled_free(struct hwi_lane *lane)
{
  if (has_counts(lane))
    hwi_event_count_free(lane);
}

/* Counts a free, and returns whether it is an event. */
static bool is_sampled_free(struct hwi_lane *lane, const void *block)
{
  count_sampled_free(lane);
  if (!take_sampled(block))
    return false;
  if (is_temporary(block))
    put_temporary(lane);
  return true;
}

/* --- forbidden zones --- */

/* If a handler of SIGTRAP allocates, a trap would end the program: the signal is blocked meanwhile. */
static __attribute__((cold, noinline)) void trap(void)
{
  struct hwi_open_scopes *open = &hwi_stream_self->open;
  if (open->is_trapping)
    return;
  open->is_trapping = true;
  hwi_arch_trap();
  open->is_trapping = false;
}

/* Leaves the lane of a call. */
static inline void leave_call(struct hwi_lane *lane)
{
  bool traps = lane->attention & HWI_LANE_TRAPS;
  hwi_stream_leave(lane);
  if (__builtin_expect(traps, 0))
    trap();
}

/* --- events --- */

struct request {
  enum hw_entry entry;
  size_t size, align; /* as in hwi_record_alloc */
};

static void put_walked_alloc(struct hwi_lane *lane, const struct hwi_caller *caller, const struct request *request,
                             void *block)
{
  uint64_t tick = hwi_event_tick();
  uint32_t node = hwi_event_node(lane, caller, request->entry);
  const struct hwi_allocation made = {tick, request->size, block, node, assumes_usable(lane, request->entry)};
  put_alloc(lane, &made, request->align);
}

void hwi_record_alloc(const struct hwi_caller *caller, enum hw_entry entry, size_t size, size_t align, void *block)
{
  if (is_sample() && hwi_event_skip_alloc(caller->pc, size))
    return;
  struct hwi_lane *lane = hwi_stream_enter(HWI_EVENT_FRAME());
  if (!lane)
    return;
  if (hwi_callers_have(&hwi_session.loader, caller->pc))
    hwi_session_loader_calls();
  if (!hwi_event_is_paused() && (!is_sample() || is_sampled_alloc(lane, size, block)))
    put_walked_alloc(lane, caller, &(struct request){entry, size, align}, block);
  if (is_counted(lane))
    count_alloc(lane, entry, size, block);
  leave_call(lane);
}

static void put_free(struct hwi_lane *lane, enum hw_entry entry, void *block)
{
  const struct hwi_pending_free pending_free = {hwi_event_tick(), block, (uint8_t)entry};
  if (hwi_session.fields & HW_FIELD_DURATION)
    hwi_pending_free_begin(lane, &pending_free);
  else
    hwi_lane_put_free(lane, &pending_free, 0);
}

void hwi_record_free(uintptr_t caller_pc, enum hw_entry entry, void *block)
{
  if (is_sample() && hwi_event_skip_free(caller_pc, block))
    return;
  struct hwi_lane *lane = hwi_stream_enter(HWI_EVENT_FRAME());
  if (!lane)
    return;
  if (hwi_callers_have(&hwi_session.loader, caller_pc))
    hwi_session_loader_calls();
  if (!is_sample() || is_sampled_free(lane, block))
    put_free(lane, entry, block);
  if (is_counted(lane))
    count_free(lane, entry, block);
  leave_call(lane);
}

uint64_t hwi_record_clock_in_order(void)
{
  return hwi_session.has_odd_clock ? hwi_session_odd_clock() : hwi_arch_clock_in_order();
}

/* Writes the free if it is still pending. */
void hwi_record_freed(const void *block, uint64_t took)
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

uint64_t hwi_record_realloc_begin(void *old)
{
  struct hwi_thread_stream *self = hwi_stream_self;
  if (__builtin_expect(self && self->counts.is_on, 0))
    self->counts.moved_bytes = hwi_event_usable(HW_FIELD_USABLE, old);
  if (is_sample() && !take_sampled(old))
    return 0;
  /* before the first event there is no clock yet, and no earlier event that must be ordered */
  return __builtin_expect(hwi_session.clock != 0, 1) ? hwi_event_tick() : 0;
}

void hwi_record_realloc_failed(void *old, uint64_t began)
{
  if (is_sample() && began)
    hwi_sampled_blocks_add(old, hwi_stream_self ? hwi_stream_self->thread : 0);
}

HWI_EVENT_INLINE void put_realloc_with(uint8_t fields, struct hwi_lane *lane, const struct hwi_allocation *made,
                                       const struct hwi_realloc *call)
{
  uint8_t *at = hwi_lane_begin(lane, HW_OP_REALLOC, call->began);
  at = hwi_put_varint(at, made->node);
  uint64_t took = made->tick > lane->last_tick ? made->tick - lane->last_tick : 0;
  lane->last_tick += took;
  at = hwi_put_varint(at, took);
  at = hwi_lane_put_address(lane, at, call->old, lane->last_address);
  at = hwi_event_put_size(fields, at, call->size, hwi_event_usable_of(fields, made));
  at = hwi_lane_put_address(lane, at, (uintptr_t)call->block, lane->last_address);
  hwi_lane_commit(lane, hwi_event_put_took(fields, at, call->block));
}

static void put_realloc(struct hwi_lane *lane, const struct hwi_allocation *made, const struct hwi_realloc *call)
{
  if (hwi_session.fields == HW_FIELD_USABLE)
    put_realloc_with(HW_FIELD_USABLE, lane, made, call);
  else
    put_realloc_with(hwi_session.fields, lane, made, call);
}

/* The old block is freed, and the new one is not recorded. */
static void put_freeing_realloc(struct hwi_lane *lane, const struct hwi_realloc *call)
{
  const struct hwi_pending_free old = {call->began, (void *)call->old, (uint8_t)call->entry};
  hwi_lane_put_free(lane, &old, hwi_call_timer_took(call->block));
}

static void put_usual_realloc(struct hwi_lane *lane, const struct hwi_caller *caller, const struct hwi_realloc *call)
{
  uint64_t ended = hwi_event_tick();
  uint32_t node = hwi_event_node(lane, caller, call->entry);
  const struct hwi_allocation made = {ended, call->size, call->block, node, assumes_usable(lane, call->entry)};
  if (__builtin_expect(hwi_lane_reserve(lane, HW_EVENT_MAX_BYTES), 1))
    put_realloc(lane, &made, call);
  else
    hwi_session_lose(HW_LOSS_FULL);
}

/* --- reallocs of a sample: a free and an allocation, each of which may be an event --- */

static void put_sampled_realloc(struct hwi_lane *lane, const struct hwi_caller *caller, const struct hwi_realloc *call)
{
  count_sampled_free(lane);
  if (call->began && is_temporary((void *)call->old))
    put_temporary(lane);
  if (call->began)
    put_freeing_realloc(lane, call);
  if (!hwi_event_is_paused() && is_sampled_alloc(lane, call->size, call->block))
    put_walked_alloc(lane, caller, &(struct request){call->entry, call->size, 0}, call->block);
}

void hwi_record_realloc(const struct hwi_caller *caller, const struct hwi_realloc *call)
{
  struct hwi_lane *lane = hwi_stream_enter(HWI_EVENT_FRAME());
  if (__builtin_expect(!lane, 0))
    return;
  if (is_sample())
    put_sampled_realloc(lane, caller, call);
  else if (__builtin_expect(hwi_event_is_paused(), 0))
    put_freeing_realloc(lane, call);
  else
    put_usual_realloc(lane, caller, call);
  if (is_counted(lane))
    count_realloc(lane, call);
  leave_call(lane);
}

void hwi_record_failed(const struct hwi_caller *caller, enum hw_entry entry, size_t size, size_t align)
{
  struct hwi_lane *lane = hwi_stream_enter(HWI_EVENT_FRAME());
  if (!lane)
    return;
  uint64_t tick = hwi_event_tick();
  if (!hwi_event_is_paused()) {
    uint32_t node = hwi_event_node(lane, caller, entry);
    if (hwi_lane_reserve(lane, HW_EVENT_MAX_BYTES)) {
      uint8_t *at = hwi_lane_begin(lane, HW_OP_FAILED, tick);
      *at++ = log2_of(align);
      at = hwi_put_varint(at, node);
      at = hwi_put_varint(at, size);
      hwi_lane_commit(lane, hwi_event_put_took(hwi_session.fields, at, NULL));
    } else {
      hwi_session_lose(HW_LOSS_FULL);
    }
  }
  if (is_counted(lane))
    hwi_stream_self->counts.failed_calls++;
  leave_call(lane);
}

void hwi_record_unloaded(void)
{
  if (atomic_load_explicit(&hwi_session.liveness->live, memory_order_relaxed))
    hwi_session_loader_returned();
}

void hwi_record_before_tsc_is_forbidden(void)
{
  if (atomic_load_explicit(&hwi_session.liveness->live, memory_order_relaxed))
    hwi_session_leave_tsc(); /* otherwise the start will check it */
}

void hwi_record_before_seal(void)
{
  hwi_stream_seal(HWI_EVENT_FRAME());
  hwi_session_expect_seal();
  hwi_os_seal();
}

void hwi_record_after_seal(bool is_sealed)
{
  if (is_sealed) {
    hwi_stream_note_seal(HWI_EVENT_FRAME());
  } else {
    hwi_os_unseal();
    hwi_stream_unseal();
  }
}

void hwi_record_thread_name(const char *name)
{
  if (!atomic_load_explicit(&hwi_session.liveness->live, memory_order_relaxed))
    return; /* a process may also be renamed just before it executes another program */
  struct hwi_lane *lane = hwi_stream_enter(HWI_EVENT_FRAME());
  if (!lane)
    return;
  hwi_stream_rename(lane, name);
  hwi_stream_leave(lane);
}
