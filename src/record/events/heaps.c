/* heaps.c - heaps that the program gives out itself, as events of their thread's stream */
#include "record/events/heaps.h"

#include "record/events/event.h"
#include "record/events/scope_names.h"

static _Atomic uint32_t heap_count;

/* Begins an event of the heap at a time in parts of ticks. Returns where its other fields go, or NULL if it is lost. */
static uint8_t *begin(struct hwi_lane *lane, uint64_t parts, enum hw_heap_op op, const struct hw_custom_heap *heap)
{
  if (!hwi_names_define(lane, heap->name) || !hwi_lane_reserve(lane, HW_EVENT_MAX_BYTES)) {
    hwi_session_lose(hwi_lane_loss());
    return NULL;
  }
  uint8_t *at = hwi_lane_begin(lane, HW_OP_HEAP, parts >> HW_TICK_PART_BITS);
  *at++ = (uint8_t)((unsigned)op | parts << HW_HEAP_OP_BITS);
  at = hwi_put_varint(at, heap->number);
  return hwi_put_varint(at, heap->name);
}

/* Writes an event that has no other fields. */
static void put(enum hw_heap_op op, const struct hw_custom_heap *heap)
{
  struct hwi_lane *lane = hwi_stream_enter(HWI_EVENT_FRAME());
  if (!lane)
    return;
  uint8_t *at = begin(lane, hwi_event_tick_parts(), op, heap);
  if (at)
    hwi_lane_commit(lane, at);
  hwi_stream_leave(lane);
}

void hwi_heap_create(struct hw_custom_heap *heap, uint32_t name)
{
  heap->name = name;
  heap->number = atomic_fetch_add_explicit(&heap_count, 1, memory_order_relaxed) + 1;
  put(HW_HEAP_CREATE, heap);
}

void hwi_heap_alloc(const struct hw_custom_heap *heap, const struct hwi_caller *caller, const void *block,
                    uint64_t size)
{
  struct hwi_lane *lane = hwi_stream_enter(HWI_EVENT_FRAME());
  if (!lane)
    return;
  uint64_t parts = hwi_event_tick_parts();
  if (!hwi_event_is_paused()) {
    uint32_t node = hwi_event_node(lane, caller, HW_ENTRY_HEAP_ALLOC);
    uint8_t *at = begin(lane, parts, block ? HW_HEAP_ALLOC : HW_HEAP_FAILED, heap);
    if (at) {
      at = hwi_put_varint(at, node);
      at = hwi_put_varint(at, size);
      hwi_lane_commit(lane, block ? hwi_lane_put_address(lane, at, (uintptr_t)block, lane->last_address) : at);
    }
  }
  hwi_stream_leave(lane);
}

void hwi_heap_free(const struct hw_custom_heap *heap, const void *block)
{
  struct hwi_lane *lane = block ? hwi_stream_enter(HWI_EVENT_FRAME()) : NULL;
  if (!lane)
    return;
  uint8_t *at = begin(lane, hwi_event_tick_parts(), HW_HEAP_FREE, heap);
  if (at)
    hwi_lane_commit(lane, hwi_lane_put_address(lane, at, (uintptr_t)block, lane->last_address));
  hwi_stream_leave(lane);
}

void hwi_heap_reset(const struct hw_custom_heap *heap)
{
  put(HW_HEAP_RESET, heap);
}

void hwi_heap_destroy(struct hw_custom_heap *heap)
{
  put(HW_HEAP_DESTROY, heap);
  *heap = (struct hw_custom_heap){0};
}
