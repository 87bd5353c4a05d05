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

enum { BITS_OF_SIZE = 64 };

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

static inline uint8_t *put_size(uint8_t *at, size_t size, void *block)
{
  if (!hwi_session.keep_usable)
    return hwi_put_varint(at, size);
  uint64_t usual = hw_usual_usable(size);
  uint64_t usable = hwi_boot_owns(block) ? usual : HWI_REAL(MALLOC_USABLE_SIZE, hwi_usable_size_fn)(block);
  bool odd = usable != usual;
  if (__builtin_expect(size >> (BITS_OF_SIZE - 1) != 0, 0))
    return hwi_put_varint(at, (uint64_t)size << 1); /* no allocator grants it; the bit above is what is lost */
  at = hwi_put_varint(at, (uint64_t)size << 1 | odd);
  return odd ? hwi_put_varint(at, hwi_zigzag((int64_t)(usable - usual))) : at;
}

static inline uint32_t known_node(uint32_t node)
{
  return node == HWI_NODE_UNKNOWN ? 0 : node;
}

static inline uint8_t *begin_alloc(struct hwi_lane *lane, uint64_t tick, uint32_t node)
{
  uint8_t slot = hw_recent_slot(node);
  bool is_recent = lane->recent[slot] == node && node;
  uint8_t *at = hwi_lane_begin(lane, is_recent ? HW_OP_ALLOC_RECENT : HW_OP_ALLOC, tick);
  if (is_recent) {
    *at = slot;
    return at + 1;
  }
  lane->recent[slot] = node;
  return hwi_put_varint(at, node);
}

static uint8_t *begin_aligned(struct hwi_lane *lane, uint64_t tick, uint32_t node, size_t align)
{
  uint8_t *at = hwi_lane_begin(lane, HW_OP_ALLOC_ALIGNED, tick);
  *at++ = log2_of(align);
  return hwi_put_varint(at, node);
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
      uint8_t *at = align ? begin_aligned(lane, tick, node, align) : begin_alloc(lane, tick, node);
      at = put_size(at, size, block);
      at = hwi_lane_put_address(lane, at, (uintptr_t)block);
      hwi_lane_commit(lane, at);
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
  at = hwi_lane_put_address(lane, at, (uintptr_t)block);
  hwi_lane_commit(lane, at);
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

static void put_realloc(struct hwi_lane *lane, uint32_t node, uint64_t began, uint64_t ended, uintptr_t old, size_t size,
                        void *block)
{
  uint8_t *at = hwi_lane_begin(lane, HW_OP_REALLOC, began);
  at = hwi_put_varint(at, node);
  uint64_t took = ended > lane->last_tick ? ended - lane->last_tick : 0;
  lane->last_tick += took;
  at = hwi_put_varint(at, took);
  at = hwi_lane_put_address(lane, at, old);
  at = put_size(at, size, block);
  at = hwi_lane_put_address(lane, at, (uintptr_t)block);
  hwi_lane_commit(lane, at);
}

void hwi_record_realloc(const struct hwi_caller *caller, enum hw_entry entry, uint64_t began, void *old, size_t size, void *block)
{
  uintptr_t old_address = (uintptr_t)old;
  struct hwi_lane *lane = hwi_stream_enter(RECORDER_FRAME());
  if (__builtin_expect(!lane, 0))
    return;
  uint64_t ended = tick_after();
  if (__builtin_expect(is_paused(), 0)) {
    put_free(lane, entry, began, old);
  } else {
    uint32_t node = known_node(hwi_walk(lane, caller, (uint8_t)entry));
    if (__builtin_expect(hwi_lane_reserve(lane, HW_EVENT_MAX_BYTES), 1))
      put_realloc(lane, node, began, ended, old_address, size, block);
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
