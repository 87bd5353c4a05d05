/* record.c - an event, from the entry point's call to its bytes in the trace: the hot path, whole */
#include "record/record.h"

#include "platform/arch.h"
#include "platform/os.h"
#include "platform/os_inline.h"
#include "record/boot.h"
#include "record/lane.h"
#include "record/nodes.h"
#include "record/owed.h"
#include "record/real.h"
#include "record/session.h"
#include "record/stream.h"
#include "record/timed.h"
#include "record/walk.h"

#define RECORDER_FRAME() ((uintptr_t)__builtin_frame_address(0))

/*
 * Later than any event of another thread that handed the block over: of an allocation, called after the real allocator returned,
 * than the free that made room for it; of a free, called before the real one, than the block's own birth. For the latter, too,
 * earlier loads must be over: a processor reads its counter while the load of the pointer that is freed still waits for another
 * processor's cache, and by then the block may not be born yet.
 */
static inline uint64_t tick_of_tsc(void)
{
  return (hwi_os_is_single_threaded() ? hwi_arch_clock() : hwi_arch_clock_after_loads()) >> HWI_TICK_SHIFT_TSC;
}

static inline uint64_t tick_now(void)
{
  if (__builtin_expect(hwi_session.clock != HW_CLOCK_TSC, 0))
    return hwi_session_clock_after_loads() >> HWI_TICK_SHIFT_NS;
  return tick_of_tsc();
}

static inline bool is_loader(uintptr_t pc)
{
  return pc - hwi_session.loader_start < hwi_session.loader_bytes;
}

static inline bool is_paused(void)
{
  return __atomic_load_n(&hwi_session.header->control, __ATOMIC_RELAXED) == HW_CONTROL_PAUSE;
}

static inline uint8_t log2_of(size_t align)
{
  return align ? (uint8_t)__builtin_ctzl(align) : 0;
}

/* What follows is put together twice: for the usual fields, known to the compiler, and for any. */
#define INLINE static inline __attribute__((always_inline))
#define IS_USUAL() __builtin_expect(hwi_session.fields == HW_FIELD_USABLE, 1)

/* The usable size of a block, if that is to be kept; else 0. */
INLINE uint64_t usable_of(uint8_t fields, void *block, size_t size)
{
  if (!(fields & HW_FIELD_USABLE))
    return 0;
  return hwi_boot_owns(block) ? hw_usual_usable(size) : HWI_REAL(MALLOC_USABLE_SIZE, hwi_usable_size_fn)(block);
}

INLINE uint8_t *put_size(uint8_t fields, uint8_t *at, uint64_t size, uint64_t usable)
{
  if (!(fields & HW_FIELD_USABLE))
    return hwi_put_varint(at, size);
  bool odd = usable != hw_usual_usable(size);
  at = hwi_put_varint(at, size << 1 | odd); /* no allocator grants a size whose top bit this would lose */
  return odd ? hwi_put_varint(at, hwi_zigzag((int64_t)(usable - hw_usual_usable(size)))) : at;
}

/* How long the call took that gave `block`, if that is to be kept. */
INLINE uint8_t *put_took(uint8_t fields, uint8_t *at, const void *block)
{
  return fields & HW_FIELD_DURATION ? hwi_put_varint(at, hwi_timed_took(block)) : at;
}

/* Each event whose stack has no node counts, save where it is the trace that is full: such an event is lost anyway. */
static __attribute__((cold, noinline)) uint32_t no_node(void)
{
  if (atomic_load_explicit(&hwi_session.phase, memory_order_relaxed) == HWI_PHASE_ON)
    hwi_session_count(&hwi_session.node_limit_hits, &hwi_session.header->node_limit_hits);
  return 0;
}

static inline uint32_t known_node(uint32_t node)
{
  return __builtin_expect(node == HWI_NODE_UNKNOWN, 0) ? no_node() : node;
}

struct allocation {
  uint64_t tick;
  size_t size;
  void *block;
  uint32_t node;
};

/* Slots save most of an allocation's bytes: a program allocates in few places at a time, each time the same size. */
INLINE void put_alloc_with(uint8_t fields, struct hwi_lane *lane, const struct allocation *made)
{
  uint32_t node = made->node;
  uint8_t slot = hw_recent_slot(node), *at;
  struct hwi_recent *recent = &lane->recent[slot];
  uint64_t usable = usable_of(fields, made->block, made->size), base = lane->last_address;
  if (__builtin_expect(lane->recent_nodes[slot] != node || !node, 0)) {
    at = hwi_put_varint(hwi_lane_begin(lane, HW_OP_ALLOC, made->tick), node);
    at = put_size(fields, at, made->size, usable);
    lane->recent_nodes[slot] = node;
  } else {
    bool again = recent->size == made->size && recent->usable == usable;
    at = hwi_lane_begin(lane, again ? HW_OP_ALLOC_AGAIN : HW_OP_ALLOC_RECENT, made->tick);
    *at++ = slot;
    base = recent->address;
    if (!again)
      at = put_size(fields, at, made->size, usable);
  }
  *recent = (struct hwi_recent){made->size, usable, (uintptr_t)made->block};
  at = hwi_lane_put_address(lane, at, (uintptr_t)made->block, base);
  hwi_lane_commit(lane, put_took(fields, at, made->block));
}

static void put_aligned(struct hwi_lane *lane, const struct allocation *made, size_t align)
{
  uint8_t fields = hwi_session.fields, *at = hwi_lane_begin(lane, HW_OP_ALLOC_ALIGNED, made->tick);
  *at++ = log2_of(align);
  at = hwi_put_varint(at, made->node);
  at = put_size(fields, at, made->size, usable_of(fields, made->block, made->size));
  at = hwi_lane_put_address(lane, at, (uintptr_t)made->block, lane->last_address);
  hwi_lane_commit(lane, put_took(fields, at, made->block));
}

/* What hwi_record_alloc was told. */
struct given {
  enum hw_entry entry;
  size_t size, align;
  void *block;
};

/* Whatever hwi_record_alloc does not do itself. `lane`: is entered; NULL: it is not yet. */
static __attribute__((noinline)) void alloc_unusually(struct hwi_lane *lane, const struct hwi_caller *caller,
                                                      const struct given *given)
{
  if (!lane && !(lane = hwi_stream_enter_slow(RECORDER_FRAME())))
    return;
  uint64_t tick = tick_now();
  if (is_loader(caller->pc))
    hwi_session_loader_calls();
  if (!is_paused()) {
    uint32_t node = known_node(hwi_walk(lane, caller, (uint8_t)given->entry));
    const struct allocation made = {tick, given->size, given->block, node};
    if (!hwi_lane_reserve(lane, HW_EVENT_MAX_BYTES))
      hwi_session_lose();
    else if (given->align)
      put_aligned(lane, &made, given->align);
    else
      put_alloc_with(hwi_session.fields, lane, &made);
  }
  hwi_stream_leave(lane);
}

void hwi_record_alloc(const struct hwi_caller *caller, enum hw_entry entry, size_t size, size_t align, void *block)
{
  struct hwi_lane *lane = hwi_stream_enter_quickly(RECORDER_FRAME());
  if (__builtin_expect(!lane || is_loader(caller->pc) || align || !hwi_session.has_plain_allocs || is_paused(), 0)) {
    alloc_unusually(lane, caller, &(const struct given){entry, size, align, block});
    return;
  }
  uint64_t tick = tick_of_tsc();
  uint32_t node = known_node(hwi_walk(lane, caller, (uint8_t)entry));
  if (__builtin_expect(hwi_lane_reserve(lane, HW_EVENT_MAX_BYTES), 1))
    put_alloc_with(HW_FIELD_USABLE, lane, &(const struct allocation){tick, size, block, node});
  else
    hwi_session_lose();
  hwi_stream_leave(lane);
}

/* Whatever hwi_record_free does not do itself. `lane`: is entered; NULL: it is not yet. */
static __attribute__((noinline)) void free_unusually(struct hwi_lane *lane, uintptr_t caller_pc, enum hw_entry entry,
                                                     void *block)
{
  if (!lane && !(lane = hwi_stream_enter_slow(RECORDER_FRAME())))
    return;
  if (is_loader(caller_pc))
    hwi_session_loader_calls();
  const struct hwi_owed owed = {tick_now(), block, (uint8_t)entry};
  if (hwi_session.fields & HW_FIELD_DURATION)
    hwi_owed_begin(lane, &owed);
  else
    hwi_lane_put_free(lane, &owed, 0);
  hwi_stream_leave(lane);
}

/* It calls nothing, so that it need not save registers. */
void hwi_record_free(uintptr_t caller_pc, enum hw_entry entry, void *block)
{
  struct hwi_lane *lane = hwi_stream_enter_quickly(RECORDER_FRAME());
  if (__builtin_expect(!lane || is_loader(caller_pc) || !hwi_session.has_plain_frees ||
                           !hwi_lane_has_room(lane, HW_EVENT_MAX_BYTES),
                       0)) {
    free_unusually(lane, caller_pc, entry, block);
    return;
  }
  const struct hwi_owed whole = {tick_of_tsc(), block, (uint8_t)entry};
  hwi_lane_put_reserved_free(lane, &whole, 0, 0);
  hwi_stream_leave(lane);
}

uint64_t hwi_record_clock_in_order(void)
{
  return hwi_session.clock == HW_CLOCK_TSC ? hwi_arch_clock_in_order() : hwi_os_monotonic_ns();
}

void hwi_record_freed(const void *block, uint64_t took)
{
  hwi_owed_settle(block, took);
}

uint64_t hwi_record_realloc_begin(void)
{
  /* before the first event there is no clock yet, and no earlier event that this could be confused with */
  return __builtin_expect(hwi_session.clock != 0, 1) ? tick_now() : 0;
}

INLINE void put_realloc_with(uint8_t fields, struct hwi_lane *lane, const struct allocation *made,
                             const struct hwi_realloc *call)
{
  uint8_t *at = hwi_lane_begin(lane, HW_OP_REALLOC, call->began);
  at = hwi_put_varint(at, made->node);
  uint64_t took = made->tick > lane->last_tick ? made->tick - lane->last_tick : 0;
  lane->last_tick += took;
  at = hwi_put_varint(at, took);
  at = hwi_lane_put_address(lane, at, call->old, lane->last_address);
  at = put_size(fields, at, call->size, usable_of(fields, call->block, call->size));
  at = hwi_lane_put_address(lane, at, (uintptr_t)call->block, lane->last_address);
  hwi_lane_commit(lane, put_took(fields, at, call->block));
}

static void put_realloc(struct hwi_lane *lane, const struct allocation *made, const struct hwi_realloc *call)
{
  if (IS_USUAL())
    put_realloc_with(HW_FIELD_USABLE, lane, made, call);
  else
    put_realloc_with(hwi_session.fields, lane, made, call);
}

/* The old block is gone, and the new one is not to be seen. */
static void put_paused_realloc(struct hwi_lane *lane, const struct hwi_realloc *call)
{
  const struct hwi_owed old = {call->began, (void *)call->old, (uint8_t)call->entry};
  hwi_lane_put_free(lane, &old, hwi_timed_took(call->block));
}

void hwi_record_realloc(const struct hwi_caller *caller, const struct hwi_realloc *call)
{
  struct hwi_lane *lane = hwi_stream_enter(RECORDER_FRAME());
  if (__builtin_expect(!lane, 0))
    return;
  uint64_t ended = tick_now();
  if (__builtin_expect(is_paused(), 0)) {
    put_paused_realloc(lane, call);
  } else {
    uint32_t node = known_node(hwi_walk(lane, caller, (uint8_t)call->entry));
    if (__builtin_expect(hwi_lane_reserve(lane, HW_EVENT_MAX_BYTES), 1))
      put_realloc(lane, &(struct allocation){.tick = ended, .node = node}, call);
    else
      hwi_session_lose();
  }
  hwi_stream_leave(lane);
}

void hwi_record_failed(const struct hwi_caller *caller, enum hw_entry entry, size_t size, size_t align)
{
  struct hwi_lane *lane = hwi_stream_enter(RECORDER_FRAME());
  if (!lane)
    return;
  uint64_t tick = tick_now();
  if (!is_paused()) {
    uint32_t node = known_node(hwi_walk(lane, caller, (uint8_t)entry));
    if (hwi_lane_reserve(lane, HW_EVENT_MAX_BYTES)) {
      uint8_t *at = hwi_lane_begin(lane, HW_OP_FAILED, tick);
      *at++ = log2_of(align);
      at = hwi_put_varint(at, node);
      at = hwi_put_varint(at, size);
      hwi_lane_commit(lane, put_took(hwi_session.fields, at, NULL));
    } else {
      hwi_session_lose();
    }
  }
  hwi_stream_leave(lane);
}

void hwi_record_unloaded(void)
{
  if (atomic_load_explicit(&hwi_session.liveness->live, memory_order_relaxed))
    hwi_session_loader_returned();
}

void hwi_record_thread_name(const char *name)
{
  if (!atomic_load_explicit(&hwi_session.liveness->live, memory_order_relaxed))
    return; /* a process that is about to run another program may be called something, too */
  struct hwi_lane *lane = hwi_stream_enter(RECORDER_FRAME());
  if (!lane)
    return;
  hwi_stream_rename(lane, name);
  hwi_stream_leave(lane);
}
