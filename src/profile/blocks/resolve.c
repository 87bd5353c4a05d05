/* resolve.c - finds the block, the stack and the thread of each event
 *
 * The main cost is cache misses in the live table, so its slots are prefetched ahead of their events.
 */
#include "profile/blocks/resolve.h"

#include "profile/blocks/sample.h"
#include "trace/table.h"

enum { LOOK_AHEAD = 48 };

bool hwi_resolver_init(struct hwi_resolver *resolver)
{
  *resolver = (struct hwi_resolver){.stack_count = 1};
  return hwi_frames_init(&resolver->frames);
}

void hwi_resolver_freeze(struct hwi_resolver *resolver)
{
  hwi_frames_freeze(&resolver->frames);
  hwi_table_release(resolver->free_blocks, resolver->free_capacity * sizeof *resolver->free_blocks);
  resolver->free_blocks = NULL;
  resolver->free_count = resolver->free_capacity = 0;
}

void hwi_resolver_release(struct hwi_resolver *resolver)
{
  hwi_resolver_freeze(resolver);
  hwi_frames_release(&resolver->frames);
  hwi_store_release(&resolver->scope_names);
}

bool hwi_resolver_is_live(void *context, uint64_t address)
{
  const struct hwi_replay_image *image = context;
  return hwi_live_slot(&image->live, address)->address;
}

/* --- new stacks and threads --- */

static uint32_t find_thread(struct hwi_resolver *resolver, struct hwi_batch *batch, uint32_t number)
{
  const uint32_t known = resolver->thread_count;
  const uint32_t thread = hwi_replay_image_thread(batch->image, number, resolver);
  if (resolver->thread_count > known)
    batch->threads[batch->thread_count++] = (struct hwi_new_thread){batch->image->number, number};
  return thread;
}

static uint32_t find_stack(struct hwi_resolver *resolver, struct hwi_batch *batch, uint32_t node)
{
  const uint32_t known = resolver->stack_count;
  const uint32_t stack = hwi_replay_image_stack(batch->image, node, resolver);
  if (resolver->stack_count > known) {
    const uint32_t frame = hwi_replay_image_frame(batch->image, node);
    batch->stacks[batch->stack_count++] = (struct hwi_new_stack){frame, resolver->frames.frames[frame]};
  }
  return stack;
}

/* --- events --- */

static bool end_block(struct hwi_resolver *resolver, uint32_t block)
{
  if (!hwi_table_grow((void **)&resolver->free_blocks, &resolver->free_capacity, resolver->free_count + 1,
                      sizeof *resolver->free_blocks))
    return false;
  resolver->free_blocks[resolver->free_count++] = block;
  return true;
}

static inline uint32_t weight_of(const struct hwi_replay_image *image, const struct hwi_event *event)
{
  return __builtin_expect(!image->sample_bytes, 1)
             ? 1
             : hwi_sample_weight(&hwi_trace_info(image->trace)->header,
                                 &(struct hwi_sample_birth){event->size, event->tick, event->address});
}

static bool resolve_alloc(struct hwi_resolver *resolver, struct hwi_batch *batch, const struct hwi_event *event,
                          struct hwi_resolved *resolved)
{
  struct hwi_live *live = &batch->image->live;
  resolved->what = HWI_RESOLVED_ALLOC;
  resolved->size = event->size;
  resolved->usable = hwi_replay_usable(batch->image, event);
  resolved->stack = find_stack(resolver, batch, event->node);
  if (!resolved->stack)
    return false;
  resolved->weight = weight_of(batch->image, event);
  struct hwi_live_slot *slot = hwi_live_slot(live, event->address);
  if (slot->address) { /* its free was missed */
    resolved->replaces = true;
    resolved->block = slot->number;
    resolved->replaced_weight = slot->weight;
    slot->weight = resolved->weight;
    return true;
  }
  if (!hwi_live_has_room(live)) {
    if (!hwi_live_grow(live))
      return false;
    slot = hwi_live_slot(live, event->address);
  }
  resolved->block = hwi_resolver_new_block(resolver);
  *slot = (struct hwi_live_slot){event->address, resolved->block, resolved->weight};
  live->count++;
  return resolved->block;
}

static bool resolve_free(struct hwi_resolver *resolver, struct hwi_batch *batch, const struct hwi_event *event,
                         struct hwi_resolved *resolved)
{
  struct hwi_live *live = &batch->image->live;
  struct hwi_live_slot *slot = hwi_live_slot(live, event->address);
  if (!slot->address)
    return hwi_replay_image_free_unknown(batch->image, event->address, &resolved->what);
  resolved->what = HWI_RESOLVED_FREE;
  resolved->block = slot->number;
  resolved->weight = slot->weight;
  hwi_live_remove(live, slot);
  return end_block(resolver, resolved->block);
}

/* Returns a number of the task that is no other's in the run. It is not 0, also in a forged trace. */
static uint64_t task_of(const struct hwi_replay_image *image, uint64_t number)
{
  return ((uint64_t)image->number << HWI_TASK_IMAGE_SHIFT) + (number & ((UINT64_C(1) << HWI_TASK_IMAGE_SHIFT) - 1)) + 1;
}

static bool resolve_scope(struct hwi_resolver *resolver, struct hwi_batch *batch, const struct hwi_event *event,
                          struct hwi_resolved *resolved)
{
  resolved->what = HWI_RESOLVED_SCOPE;
  resolved->size = event->size;
  resolved->usable = event->entry == HW_SCOPE_TASK ? task_of(batch->image, event->usable) : event->usable;
  if (event->entry == HW_SCOPE_ENTER || event->entry == HW_SCOPE_LEAVE || event->entry == HW_SCOPE_FINISH)
    resolved->size = task_of(batch->image, event->size);
  else if (event->entry != HW_SCOPE_END)
    resolved->size = hwi_replay_image_scope_name(batch->image, event->size, resolver);
  return resolved->size || event->entry == HW_SCOPE_END; /* a forged END may be of no scope */
}

/* --- heaps of the program's own --- */

static void end_heap_block(struct hwi_heap_blocks *blocks, uint32_t block, struct hwi_resolved *resolved)
{
  if (!block)
    return;
  resolved->block++;
  resolved->usable += blocks->blocks[block].size;
  hwi_heap_blocks_remove(blocks, block);
}

static bool resolve_heap(struct hwi_resolver *resolver, struct hwi_batch *batch, const struct hwi_event *event,
                         struct hwi_resolved *resolved)
{
  struct hwi_heap_blocks *blocks = &batch->image->heap_blocks;
  const uint32_t heap = hwi_heap_blocks_heap(blocks, event->heap);
  struct hwi_block_heap *of = heap ? &blocks->heaps[heap] : NULL;
  if (of && !of->name)
    of->name = hwi_replay_image_scope_name(batch->image, event->usable, resolver);
  if (!of || !of->name)
    return false;
  resolved->what = HWI_RESOLVED_HEAP;
  resolved->address = of->name;
  if (event->entry == HW_HEAP_ALLOC || event->entry == HW_HEAP_FREE)
    end_heap_block(blocks, hwi_heap_blocks_find(blocks, heap, event->address), resolved);
  while ((event->entry == HW_HEAP_RESET || event->entry == HW_HEAP_DESTROY) && of->first)
    end_heap_block(blocks, of->first, resolved);
  if (event->entry == HW_HEAP_DESTROY)
    hwi_heap_blocks_end_heap(blocks, heap);
  if (event->entry != HW_HEAP_ALLOC)
    return true;
  resolved->size = event->size;
  return hwi_heap_blocks_add(blocks, heap, event->address, event->size);
}

static bool resolve(struct hwi_resolver *resolver, struct hwi_batch *batch, const struct hwi_event *event,
                    struct hwi_resolved *resolved)
{
  const uint32_t thread = find_thread(resolver, batch, event->thread);
  *resolved = (struct hwi_resolved){.tick = event->tick,
                                    .address = event->address,
                                    .thread = thread - 1,
                                    .entry = event->entry,
                                    .moved = event->moved,
                                    .temporary = event->kind == HWI_EVENT_FREE && event->temporary};
  if (!thread)
    return false;
  if (event->kind == HWI_EVENT_ALLOC)
    return resolve_alloc(resolver, batch, event, resolved);
  if (event->kind == HWI_EVENT_FREE)
    return resolve_free(resolver, batch, event, resolved);
  if (event->kind == HWI_EVENT_SCOPE)
    return resolve_scope(resolver, batch, event, resolved);
  if (event->kind == HWI_EVENT_HEAP)
    return resolve_heap(resolver, batch, event, resolved);
  resolved->what = HWI_RESOLVED_FAILED;
  resolved->size = event->size;
  resolved->stack = find_stack(resolver, batch, event->node);
  return resolved->stack;
}

bool hwi_resolve(struct hwi_resolver *resolver, struct hwi_batch *batch, const struct hwi_event *events, int count)
{
  const struct hwi_live *live = &batch->image->live;
  struct hwi_resolved *resolved = batch->events + batch->count;
  for (int i = 0; i < count && i < LOOK_AHEAD; i++)
    hwi_live_fetch(live, events[i].address);
  for (int i = 0; i < count; i++) {
    if (i + LOOK_AHEAD < count)
      hwi_live_fetch(live, events[i + LOOK_AHEAD].address);
    if (!resolve(resolver, batch, &events[i], &resolved[i]))
      return false;
  }
  batch->count += count;
  return true;
}

bool hwi_resolver_end_image(struct hwi_resolver *resolver, struct hwi_replay_image *image)
{
  bool done = true;
  for (size_t i = 0; done && i <= image->live.mask; i++)
    done = !image->live.slots[i].address || end_block(resolver, image->live.slots[i].number);
  return done;
}
