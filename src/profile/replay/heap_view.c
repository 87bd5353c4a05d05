/* heap_view.c - the events of some heaps of the program's own, in the form of those of malloc
 *
 * Blocks of several heaps may have the same address, for example offsets into the memory of a GPU. What comes after this
 * view knows blocks by their addresses alone. So while a block of another heap is live at an address, a further block gets
 * an address that no program has.
 */
#include "profile/replay/heap_view.h"

#include <stdlib.h>

#include "base/shell_pattern.h"
#include "trace/grow.h"
#include "trace/store.h"

enum { BATCH_EVENTS = 512, STEP = 16 };
#define FIRST_OTHER_ADDRESS (UINT64_C(1) << 63)

struct hwi_heap_view {
  const char *pattern;
  struct hwi_heap_blocks blocks; /* of the chosen heaps; the name of a heap is 1 if it is chosen, else 2 */
  uint64_t *shown;               /* by block: its address in the view */
  size_t shown_capacity;
  struct hwi_live taken;                 /* addresses in the view */
  uint64_t other_address;                /* the last one that was given instead of a block's own; 0: none */
  struct hwi_store names;                /* of heaps seen */
  struct hwi_event events[BATCH_EVENTS]; /* of the trace: [at, count) are still to come */
  int at, count;
  uint32_t emptied; /* the heap that is being reset, by events.[at]; 0: none */
};

enum choice { CHOSEN = 1, NOT_CHOSEN = 2 };

struct hwi_heap_view *hwi_heap_view_create(const char *pattern)
{
  struct hwi_heap_view *view = calloc(1, sizeof *view);
  if (!view)
    return NULL;
  view->pattern = pattern;
  if (hwi_live_init(&view->taken))
    return view;
  free(view);
  return NULL;
}

void hwi_heap_view_destroy(struct hwi_heap_view *view)
{
  if (!view)
    return;
  hwi_heap_blocks_release(&view->blocks);
  hwi_live_release(&view->taken);
  free(view->shown);
  hwi_store_release(&view->names);
  free(view);
}

/* --- which heaps --- */

/* Sets *heap to the event's heap. Returns 0, or a negative status. */
static int find_heap(struct hwi_heap_view *view, struct hwi_trace *trace, const struct hwi_event *event, uint32_t *heap,
                     struct hwi_error *error)
{
  const uint32_t number = hwi_heap_blocks_heap(&view->blocks, event->heap);
  if (!number)
    return HW_ERR_MEMORY;
  struct hwi_block_heap *of = &view->blocks.heaps[number];
  if (!of->name) {
    const uint32_t name = event->usable < UINT32_MAX ? (uint32_t)event->usable : UINT32_MAX;
    const char *text = hwi_trace_name(trace, name);
    const int status = text ? 0 : hwi_trace_complete(trace, error); /* another stream may define it later in the file */
    if (status < 0)
      return status;
    text = text ? text : hwi_trace_name(trace, name);
    text = text ? text : "?";
    if (!hwi_store_intern_text(&view->names, text))
      return HW_ERR_MEMORY;
    of->name = hwi_shell_pattern_matches(view->pattern, text) ? CHOSEN : NOT_CHOSEN;
  }
  *heap = number;
  return 0;
}

void hwi_heap_view_each_name(const struct hwi_heap_view *view, void (*take)(void *context, const char *name),
                             void *context)
{
  for (uint32_t i = 1; i <= view->names.string_count; i++)
    take(context, view->names.strings[i].text);
}

/* --- one event --- */

/* Returns an address at which no block of the view is live: the block's own, if possible. */
static uint64_t free_address(struct hwi_heap_view *view, uint64_t address)
{
  while (hwi_live_slot(&view->taken, address)->address) {
    const uint64_t last = view->other_address;
    address = view->other_address = last >= FIRST_OTHER_ADDRESS ? last + STEP : FIRST_OTHER_ADDRESS;
  }
  return address;
}

static int show_alloc(struct hwi_heap_view *view, uint32_t heap, struct hwi_event *event)
{
  uint32_t block = hwi_heap_blocks_find(&view->blocks, heap, event->address);
  event->kind = HWI_EVENT_ALLOC;
  event->usable = event->size;
  if (block) { /* its free was missed */
    event->address = view->shown[block];
    return 0;
  }
  block = hwi_heap_blocks_add(&view->blocks, heap, event->address, event->size);
  if (!block || !hwi_grow((void **)&view->shown, &view->shown_capacity, (size_t)block + 1, sizeof *view->shown) ||
      !hwi_live_grow(&view->taken))
    return HW_ERR_MEMORY;
  event->address = view->shown[block] = free_address(view, event->address);
  struct hwi_live_slot *slot = hwi_live_slot(&view->taken, event->address);
  view->taken.count += !slot->address;
  *slot = (struct hwi_live_slot){.address = event->address, .number = block};
  return 0;
}

/* Ends the block, and makes the event its free. */
static void show_end(struct hwi_heap_view *view, uint32_t block, struct hwi_event *event)
{
  event->kind = HWI_EVENT_FREE;
  event->entry = HW_ENTRY_NONE;
  event->address = view->shown[block];
  event->size = event->usable = 0;
  struct hwi_live_slot *slot = hwi_live_slot(&view->taken, event->address);
  if (slot->address && slot->number == block)
    hwi_live_remove(&view->taken, slot);
  hwi_heap_blocks_remove(&view->blocks, block);
}

static void show_free(struct hwi_heap_view *view, uint32_t heap, struct hwi_event *event)
{
  const uint32_t block = hwi_heap_blocks_find(&view->blocks, heap, event->address);
  event->kind = HWI_EVENT_FREE;
  event->entry = HW_ENTRY_NONE;
  event->usable = 0;
  if (block)
    show_end(view, block, event);
  else /* not that of another heap's block */
    event->address = free_address(view, event->address);
}

/* Turns an event of a chosen heap into what the view shows. Returns how many events that is, 0 or 1, or a negative
 * status. */
static int show(struct hwi_heap_view *view, uint32_t heap, struct hwi_event *event)
{
  int status;
  switch (event->entry) {
  case HW_HEAP_ALLOC:
    status = show_alloc(view, heap, event);
    return status < 0 ? status : 1;
  case HW_HEAP_FREE:
    show_free(view, heap, event);
    return 1;
  case HW_HEAP_FAILED:
    event->kind = HWI_EVENT_FAILED;
    event->usable = 0;
    return 1;
  case HW_HEAP_RESET:
  case HW_HEAP_DESTROY:
    view->emptied = heap;
    return 0;
  default:
    return 0;
  }
}

/* Takes the next event of the trace. Returns how many events it became, or a negative status. */
static int take(struct hwi_heap_view *view, struct hwi_trace *trace, struct hwi_event *event, struct hwi_error *error)
{
  *event = view->events[view->at++];
  if (event->kind == HWI_EVENT_SCOPE) {
    if (event->entry == HW_SCOPE_BEGIN_FORBIDDEN) /* it forbids calls of malloc */
      event->entry = HW_SCOPE_BEGIN;
    return 1;
  }
  if (event->kind != HWI_EVENT_HEAP)
    return 0;
  uint32_t heap = 0;
  const int status = find_heap(view, trace, event, &heap, error);
  if (status < 0)
    return status;
  event->alignment_log2 = 0; /* was the part of the tick */
  if (view->blocks.heaps[heap].name == CHOSEN)
    return show(view, heap, event);
  if (event->entry == HW_HEAP_DESTROY)
    hwi_heap_blocks_end_heap(&view->blocks, heap);
  return 0;
}

/* Frees a block of the heap that is being reset or destroyed. */
static int empty(struct hwi_heap_view *view, struct hwi_event *event)
{
  const uint32_t block = view->blocks.heaps[view->emptied].first;
  if (!block) {
    if (view->events[view->at - 1].entry == HW_HEAP_DESTROY)
      hwi_heap_blocks_end_heap(&view->blocks, view->emptied);
    view->emptied = 0;
    return 0;
  }
  *event = view->events[view->at - 1]; /* the reset: its time and thread */
  event->alignment_log2 = 0;
  show_end(view, block, event);
  return 1;
}

int hwi_heap_view_next(struct hwi_heap_view *view, struct hwi_trace *trace, struct hwi_event *events, int max,
                       struct hwi_error *error)
{
  int shown = 0;
  while (shown < max) {
    if (view->at == view->count && !view->emptied) {
      if (shown) /* a time is shown as soon as it is known */
        return shown;
      view->at = 0;
      view->count = hwi_trace_next(trace, view->events, BATCH_EVENTS, error);
      if (view->count <= 0) {
        const int status = view->count;
        view->count = 0;
        return status;
      }
    }
    const int made = view->emptied ? empty(view, &events[shown]) : take(view, trace, &events[shown], error);
    if (made < 0)
      return made == HW_ERR_MEMORY ? hwi_error_set(error, made, "no memory to follow the heap's blocks") : made;
    shown += made;
  }
  return shown;
}
