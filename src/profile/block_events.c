/* block_events.c - the events of a run, each told with the block that it is about */
#include "profile/block_events.h"

#include <stdlib.h>

#include "trace/grow.h"

enum { LOOK_AHEAD = 48 };

bool hwi_block_events_init(struct hwi_block_events *events, struct hwi_replay *replay,
                           const struct hwi_block_sink *sink)
{
  *events = (struct hwi_block_events){.sink = sink, .replay = replay, .kind_count = 1};
  replay->tally.only_numbers = true;
  return hwi_tagged_init(&events->kind_numbers);
}

void hwi_block_events_release(struct hwi_block_events *events)
{
  free(events->kinds);
  free(events->entries);
  hwi_tagged_release(&events->kind_numbers);
  *events = (struct hwi_block_events){0};
}

/* --- kinds of blocks --- */

static uint32_t hash(const struct hwi_block_kind *kind)
{
  uint64_t key = ((uint64_t)kind->stack << 32 | kind->owner) + kind->size * UINT64_C(0xBF58476D1CE4E5B9) +
                 kind->usable * UINT64_C(0x94D049BB133111EB);
  key = (key ^ key >> 31) * UINT64_C(0x9E3779B97F4A7C15);
  return (uint32_t)(key ^ key >> 32);
}

static bool same(const struct hwi_block_kind *a, const struct hwi_block_kind *b)
{
  return a->size == b->size && a->usable == b->usable && a->stack == b->stack && a->owner == b->owner;
}

/* 0: no memory. */
static uint32_t find_kind(struct hwi_block_events *events, const struct hwi_block_kind *kind)
{
  const struct hwi_tagged *numbers = &events->kind_numbers;
  uint32_t tag = hash(kind);
  for (const struct hwi_tagged_slot *at = hwi_tagged_first(numbers, tag); at->number; at = hwi_tagged_next(numbers, at))
    if (at->tag == tag && same(&events->kinds[at->number], kind))
      return at->number;
  if (events->kind_count >= UINT32_MAX ||
      !hwi_grow((void **)&events->kinds, &events->kind_capacity, events->kind_count + 1, sizeof *events->kinds))
    return 0;
  uint32_t number = (uint32_t)events->kind_count++;
  events->kinds[number] = *kind;
  return hwi_tagged_add(&events->kind_numbers, tag, number) ? number : 0;
}

static void describe_block(const struct hwi_block_events *events, const struct hwi_live_slot *slot,
                           struct hwi_block_event *told)
{
  const struct hwi_block_kind *kind = &events->kinds[slot->cell];
  told->size = kind->size;
  told->usable = kind->usable;
  told->stack = kind->stack;
  told->owner = kind->owner;
}

/* --- events --- */

static bool tell(const struct hwi_block_events *events, const struct hwi_block_event *told)
{
  return events->sink->take(events->sink->context, told);
}

static enum hwi_told take_free(struct hwi_block_events *events, struct hwi_replay_image *image,
                               struct hwi_block_event *told)
{
  struct hwi_live_slot *slot = hwi_live_slot(&image->live, told->address);
  told->kind = slot->address ? HWI_BLOCK_FREE : HWI_BLOCK_FREE_UNKNOWN;
  if (slot->address) {
    describe_block(events, slot, told);
    told->born_ns = slot->born_ns;
    told->temporary = events->replay->tally.threads[told->owner].last_address == told->address;
    hwi_live_remove(&image->live, slot);
  }
  return tell(events, told) ? HWI_TOLD : HWI_TOLD_STOP;
}

/* An allocation where a block lives: its free was missed. */
static enum hwi_told take_missed_free(struct hwi_block_events *events, struct hwi_replay_image *image,
                                      struct hwi_block_event told)
{
  struct hwi_live_slot *slot = hwi_live_slot(&image->live, told.address);
  if (!slot->address)
    return HWI_TOLD;
  told.timed = false;
  told.took_ns = 0;
  told.kind = HWI_BLOCK_FREE_MISSED;
  describe_block(events, slot, &told);
  hwi_live_remove(&image->live, slot);
  return tell(events, &told) ? HWI_TOLD : HWI_TOLD_STOP;
}

/* The stack of an allocation, or of one that failed, and what it called. False: as 0 of hwi_replay_image_stack. */
static bool find_stack(struct hwi_block_events *events, struct hwi_replay_image *image, uint32_t node,
                       struct hwi_block_event *told)
{
  struct hwi_replay *replay = events->replay;
  uint32_t stack = hwi_replay_image_stack(image, node, &replay->frames, &replay->tally);
  if (!stack || !hwi_grow((void **)&events->entries, &events->entries_capacity, (size_t)stack + 1, 1))
    return false;
  if (!events->entries[stack])
    events->entries[stack] = hwi_trace_node(image->trace, node).entry + 1;
  told->entry = events->entries[stack] - 1;
  told->stack = stack;
  told->owner = told->thread;
  return true;
}

static enum hwi_told take_allocation(struct hwi_block_events *events, struct hwi_replay_image *image,
                                     const struct hwi_event *event, struct hwi_block_event *told)
{
  enum hwi_told status = take_missed_free(events, image, *told);
  if (status != HWI_TOLD)
    return status;
  told->kind = HWI_BLOCK_ALLOC;
  told->size = event->size;
  told->usable = hwi_replay_usable(image, event);
  if (!find_stack(events, image, event->node, told) || !hwi_live_grow(&image->live))
    return HWI_TOLD_NO_MEMORY;
  const struct hwi_block_kind kind = {told->size, told->usable, told->stack, told->owner};
  uint32_t number = find_kind(events, &kind);
  if (!number)
    return HWI_TOLD_NO_MEMORY;
  *hwi_live_slot(&image->live, told->address) =
      (struct hwi_live_slot){.address = told->address, .born_ns = told->ns, .cell = number};
  image->live.count++;
  events->replay->tally.threads[told->owner].last_address = told->address;
  return tell(events, told) ? HWI_TOLD : HWI_TOLD_STOP;
}

static enum hwi_told take_failed(struct hwi_block_events *events, struct hwi_replay_image *image,
                                 const struct hwi_event *event, struct hwi_block_event *told)
{
  told->kind = HWI_BLOCK_FAILED;
  told->size = event->size;
  if (!find_stack(events, image, event->node, told))
    return HWI_TOLD_NO_MEMORY;
  return tell(events, told) ? HWI_TOLD : HWI_TOLD_STOP;
}

static enum hwi_told take(struct hwi_block_events *events, struct hwi_replay_image *image, uint32_t image_number,
                          const struct hwi_event *event)
{
  struct hwi_replay *replay = events->replay;
  uint32_t thread = hwi_replay_image_thread(image, event->thread, image_number, &replay->tally);
  uint64_t ns = hwi_replay_image_ns(image, event->tick);
  ns = ns < HWI_TRACE_LATEST_NS ? ns : HWI_TRACE_LATEST_NS;
  replay->now_ns = ns > replay->now_ns ? ns : replay->now_ns;
  struct hwi_block_event told = {
      .ns = replay->now_ns,
      .address = event->address,
      .image = image_number,
      .thread = thread - 1,
      .alignment_log2 = event->alignment_log2,
      .entry = event->entry,
      .moved = event->moved,
      .timed = event->took,
      .took_ns = event->took ? hwi_trace_units_ns(image->trace, event->took - 1) : 0,
  };
  if (!thread)
    return HWI_TOLD_NO_MEMORY;
  if (event->kind == HWI_EVENT_FREE)
    return take_free(events, image, &told);
  if (event->kind == HWI_EVENT_ALLOC)
    return take_allocation(events, image, event, &told);
  return take_failed(events, image, event, &told);
}

enum hwi_told hwi_block_events_apply(struct hwi_block_events *events, struct hwi_replay_image *image,
                                     uint32_t image_number, const struct hwi_event *batch, int count)
{
  enum hwi_told told = HWI_TOLD;
  for (int i = 0; i < count && i < LOOK_AHEAD; i++)
    hwi_live_fetch(&image->live, batch[i].address);
  for (int i = 0; i < count && told == HWI_TOLD; i++) {
    if (i + LOOK_AHEAD < count)
      hwi_live_fetch(&image->live, batch[i + LOOK_AHEAD].address);
    told = take(events, image, image_number, &batch[i]);
  }
  return told;
}

bool hwi_block_events_leave(const struct hwi_block_events *events, const struct hwi_replay_image *image,
                            uint32_t image_number, uint64_t ns)
{
  for (size_t i = 0; i <= image->live.mask; i++) {
    const struct hwi_live_slot *slot = &image->live.slots[i];
    struct hwi_block_event told = {.ns = ns, .address = slot->address, .image = image_number, .kind = HWI_BLOCK_LEFT};
    if (!slot->address)
      continue;
    describe_block(events, slot, &told);
    told.thread = told.owner;
    if (!tell(events, &told))
      return false;
  }
  return true;
}
