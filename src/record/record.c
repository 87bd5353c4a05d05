/* record.c - an event, from the entry point's call to its bytes in the trace: the hot path, whole */
#include "record/record.h"

#include "platform/arch.h"
#include "platform/os_inline.h"
#include "record/boot.h"
#include "record/lane.h"
#include "record/nodes.h"
#include "record/real.h"
#include "record/session.h"
#include "record/stream.h"
#include "record/walk.h"

#define RECORDER_FRAME() ((uintptr_t)__builtin_frame_address(0))

/* Called after the real allocator returned, and after the session began: later than any event of another thread that made the block free. */
static inline uint64_t tick_after(void)
{
  if (__builtin_expect(hwi_session.clock != HW_CLOCK_TSC, 0))
    return hwi_session_clock_after_loads() >> HWI_TICK_SHIFT_NS;
  return (hwi_os_is_single_threaded() ? hwi_arch_clock() : hwi_arch_clock_after_loads()) >> HWI_TICK_SHIFT_TSC;
}

/* Before the real free. */
static inline uint64_t tick_before(void)
{
  if (__builtin_expect(hwi_session.clock != HW_CLOCK_TSC, 0))
    return hwi_session_clock() >> HWI_TICK_SHIFT_NS;
  return hwi_arch_clock() >> HWI_TICK_SHIFT_TSC;
}

static inline bool is_paused(void)
{
  return __atomic_load_n(&hwi_session.header->control, __ATOMIC_RELAXED) == HW_CONTROL_PAUSE;
}

static inline uint8_t log2_of(size_t align)
{
  return align ? (uint8_t)__builtin_ctzl(align) : 0;
}

/* The usable size of a block, if that is to be kept; else 0. */
static inline uint64_t usable_of(void *block, size_t size)
{
  if (!hwi_session.keep_usable)
    return 0;
  return hwi_boot_owns(block) ? hw_usual_usable(size) : HWI_REAL(MALLOC_USABLE_SIZE, hwi_usable_size_fn)(block);
}

static inline uint8_t *put_size(uint8_t *at, uint64_t size, uint64_t usable)
{
  if (!hwi_session.keep_usable)
    return hwi_put_varint(at, size);
  bool odd = usable != hw_usual_usable(size);
  at = hwi_put_varint(at, size << 1 | odd); /* no allocator grants a size whose top bit this would lose */
  return odd ? hwi_put_varint(at, hwi_zigzag((int64_t)(usable - hw_usual_usable(size)))) : at;
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

/* Slots save most of an allocation's bytes: a program allocates in few places at a time, each time the same size. */
static inline void put_alloc(struct hwi_lane *lane, uint64_t tick, uint32_t node, size_t size, void *block)
{
  uint8_t slot = hw_recent_slot(node), *at;
  uint64_t usable = usable_of(block, size), base = lane->last_address;
  if (__builtin_expect(lane->recent_nodes[slot] == node && node, 1)) {
    bool again = lane->recent[slot].size == size && lane->recent[slot].usable == usable;
    at = hwi_lane_begin(lane, again ? HW_OP_ALLOC_AGAIN : HW_OP_ALLOC_RECENT, tick);
    *at++ = slot;
    base = lane->recent[slot].address;
    if (!again)
      at = put_size(at, size, usable);
  } else {
    at = hwi_put_varint(hwi_lane_begin(lane, HW_OP_ALLOC, tick), node);
    at = put_size(at, size, usable);
    lane->recent_nodes[slot] = node;
  }
  lane->recent[slot].size = size;
  lane->recent[slot].usable = usable;
  lane->recent[slot].address = (uintptr_t)block;
  hwi_lane_commit(lane, hwi_lane_put_address(lane, at, (uintptr_t)block, base));
}

static void put_aligned(struct hwi_lane *lane, uint64_t tick, uint32_t node, size_t size, size_t align, void *block)
{
  uint8_t *at = hwi_lane_begin(lane, HW_OP_ALLOC_ALIGNED, tick);
  *at++ = log2_of(align);
  at = hwi_put_varint(at, node);
  at = put_size(at, size, usable_of(block, size));
  hwi_lane_commit(lane, hwi_lane_put_address(lane, at, (uintptr_t)block, lane->last_address));
}

void hwi_record_alloc(const struct hwi_caller *caller, enum hw_entry entry, size_t size, size_t align, void *block)
{
  struct hwi_lane *lane = hwi_stream_enter(RECORDER_FRAME());
  if (__builtin_expect(!lane, 0))
    return;
  uint64_t tick = tick_after();
  if (__builtin_expect(caller->pc - hwi_session.loader_start < hwi_session.loader_bytes, 0))
    hwi_session_loader_calls();
  if (__builtin_expect(!is_paused(), 1)) {
    uint32_t node = known_node(hwi_walk(lane, caller, (uint8_t)entry));
    if (__builtin_expect(hwi_lane_reserve(lane, HW_EVENT_MAX_BYTES), 1)) {
      if (__builtin_expect(!align, 1))
        put_alloc(lane, tick, node, size, block);
      else
        put_aligned(lane, tick, node, size, align, block);
    } else {
      hwi_session_lose();
    }
  }
  hwi_stream_leave(lane);
}

static inline void put_free(struct hwi_lane *lane, enum hw_entry entry, uint64_t tick, void *block)
{
  if (__builtin_expect(!hwi_lane_reserve(lane, HW_EVENT_MAX_BYTES), 0)) {
    hwi_session_lose();
    return;
  }
  enum hw_op op = entry == HW_ENTRY_FREE ? HW_OP_FREE : entry == HW_ENTRY_DELETE_SIZED ? HW_OP_DELETE : HW_OP_FREE_VIA;
  uint8_t *at = hwi_lane_begin(lane, op, tick);
  if (op == HW_OP_FREE_VIA)
    *at++ = (uint8_t)entry;
  hwi_lane_commit(lane, hwi_lane_put_address(lane, at, (uintptr_t)block, lane->last_address));
}

void hwi_record_free(uintptr_t caller_pc, enum hw_entry entry, void *block)
{
  struct hwi_lane *lane = hwi_stream_enter(RECORDER_FRAME());
  if (__builtin_expect(!lane, 0))
    return;
  uint64_t tick = tick_before();
  if (__builtin_expect(caller_pc - hwi_session.loader_start < hwi_session.loader_bytes, 0))
    hwi_session_loader_calls();
  put_free(lane, entry, tick, block);
  hwi_stream_leave(lane);
}

uint64_t hwi_record_realloc_begin(void)
{
  /* before the first event there is no clock yet, and no earlier event that this could be confused with */
  return __builtin_expect(hwi_session.clock != 0, 1) ? tick_before() : 0;
}

static void put_realloc(struct hwi_lane *lane, uint32_t node, uint64_t ended, const struct hwi_realloc *call)
{
  uint8_t *at = hwi_lane_begin(lane, HW_OP_REALLOC, call->began);
  at = hwi_put_varint(at, node);
  uint64_t took = ended > lane->last_tick ? ended - lane->last_tick : 0;
  lane->last_tick += took;
  at = hwi_put_varint(at, took);
  at = hwi_lane_put_address(lane, at, call->old, lane->last_address);
  at = put_size(at, call->size, usable_of(call->block, call->size));
  hwi_lane_commit(lane, hwi_lane_put_address(lane, at, (uintptr_t)call->block, lane->last_address));
}

void hwi_record_realloc(const struct hwi_caller *caller, const struct hwi_realloc *call)
{
  struct hwi_lane *lane = hwi_stream_enter(RECORDER_FRAME());
  if (__builtin_expect(!lane, 0))
    return;
  uint64_t ended = tick_after();
  if (__builtin_expect(is_paused(), 0)) {
    put_free(lane, call->entry, call->began, (void *)call->old);
  } else {
    uint32_t node = known_node(hwi_walk(lane, caller, (uint8_t)call->entry));
    if (__builtin_expect(hwi_lane_reserve(lane, HW_EVENT_MAX_BYTES), 1))
      put_realloc(lane, node, ended, call);
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
  uint64_t tick = tick_after();
  if (!is_paused()) {
    uint32_t node = known_node(hwi_walk(lane, caller, (uint8_t)entry));
    if (hwi_lane_reserve(lane, HW_EVENT_MAX_BYTES)) {
      uint8_t *at = hwi_lane_begin(lane, HW_OP_FAILED, tick);
      *at++ = log2_of(align);
      at = hwi_put_varint(at, node);
      at = hwi_put_varint(at, size);
      hwi_lane_commit(lane, at);
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
  struct hwi_lane *lane = hwi_stream_enter(RECORDER_FRAME());
  if (!lane)
    return;
  hwi_stream_rename(lane, name);
  hwi_stream_leave(lane);
}
