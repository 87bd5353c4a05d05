/* block_events.c - reports the events of a run, each with its block */
#include "profile/replay/block_events.h"

#include <stdlib.h>

#include "profile/counters/annotations.h"
#include "profile/counters/scope_events.h"
#include "trace/grow.h"
#include "trace/table.h"

/* A live block. */
struct hwi_reported_block {
  uint64_t size, usable, born_ns;
  uint32_t stack, owner, scope, weight;
};

bool hwi_block_events_init(struct hwi_block_events *events, struct hwi_resolver *resolver,
                           const struct hwi_block_sink *sink)
{
  *events = (struct hwi_block_events){.sink = sink, .resolver = resolver, .batch = malloc(sizeof *events->batch)};
  return events->batch;
}

void hwi_block_events_release(struct hwi_block_events *events)
{
  free(events->batch);
  hwi_table_release(events->blocks, events->block_capacity * sizeof *events->blocks);
  free(events->entries);
  free(events->last_addresses);
  hwi_scopes_destroy(events->scopes);
  *events = (struct hwi_block_events){0};
}

static void describe_block(const struct hwi_block_events *events, uint32_t number, struct hwi_block_event *reported)
{
  const struct hwi_reported_block *block = &events->blocks[number];
  reported->size = block->size;
  reported->usable = block->usable;
  reported->stack = block->stack;
  reported->owner = block->owner;
  reported->scope = block->scope;
  reported->weight = block->weight;
}

static bool report(const struct hwi_block_events *events, const struct hwi_block_event *reported)
{
  return events->sink->take(events->sink->context, reported);
}

/* Returns the path of scopes that the thread is in. Scopes are followed as for the profile, so that a path has the same
 * number there. */
static uint32_t path_of(const struct hwi_block_events *events, uint32_t thread)
{
  return events->scopes ? hwi_scopes_path(events->scopes, thread) : 0;
}

/* --- events --- */

static bool report_free(const struct hwi_block_events *events, const struct hwi_resolved *event,
                        struct hwi_block_event *reported)
{
  const bool has_block = event->what == HWI_RESOLVED_FREE;
  reported->kind = has_block ? HWI_BLOCK_FREE : HWI_BLOCK_FREE_UNKNOWN;
  if (has_block) {
    describe_block(events, event->block, reported);
    reported->born_ns = events->blocks[event->block].born_ns;
    reported->temporary = events->batch->image->sample_bytes
                              ? event->temporary
                              : events->last_addresses[reported->owner] == reported->address;
  }
  return report(events, reported);
}

/* An allocation at the address of a live block: the free of that block was missed. */
static bool report_missed_free(const struct hwi_block_events *events, const struct hwi_resolved *event,
                               struct hwi_block_event reported)
{
  reported.timed = false;
  reported.took_ns = 0;
  reported.kind = HWI_BLOCK_FREE_MISSED;
  describe_block(events, event->block, &reported);
  return report(events, &reported);
}

static bool report_alloc(const struct hwi_block_events *events, const struct hwi_resolved *event,
                         struct hwi_block_event *reported)
{
  if (event->replaces && !report_missed_free(events, event, *reported))
    return false;
  events->blocks[event->block] = (struct hwi_reported_block){
      event->size,  event->usable, reported->ns, event->stack, event->thread, path_of(events, event->thread),
      event->weight};
  events->last_addresses[event->thread] = event->address;
  reported->kind = HWI_BLOCK_ALLOC;
  describe_block(events, event->block, reported);
  reported->entry = events->entries[event->stack];
  return report(events, reported);
}

static bool report_failed(const struct hwi_block_events *events, const struct hwi_resolved *event,
                          struct hwi_block_event *reported)
{
  reported->kind = HWI_BLOCK_FAILED;
  reported->size = event->size;
  reported->owner = event->thread;
  reported->scope = path_of(events, event->thread);
  reported->stack = event->stack;
  reported->entry = events->entries[event->stack];
  return report(events, reported);
}

static enum hwi_applied report_event(struct hwi_block_events *events, const struct hwi_event *event,
                                     const struct hwi_resolved *resolved)
{
  const struct hwi_replay_image *image = events->batch->image;
  struct hwi_block_event reported = {
      .ns = events->now_ns,
      .address = event->address,
      .image = image->number,
      .thread = resolved->thread,
      .alignment_log2 = event->alignment_log2,
      .entry = event->entry,
      .moved = event->moved,
      .weight = 1,
      .timed = event->took,
      .took_ns = event->took ? hwi_trace_units_ns(image->trace, event->took - 1) : 0,
  };
  const bool goes_on = resolved->what == HWI_RESOLVED_ALLOC    ? report_alloc(events, resolved, &reported)
                       : resolved->what == HWI_RESOLVED_FAILED ? report_failed(events, resolved, &reported)
                                                               : report_free(events, resolved, &reported);
  return goes_on ? HWI_APPLIED : HWI_APPLIED_STOP;
}

/* --- scopes --- */

/* Reports the scopes of rules that have ended since the thread was at depth `before`, with its latest event. */
static enum hwi_applied report_left_rules(const struct hwi_block_events *events, uint32_t image, uint32_t thread,
                                          uint32_t before)
{
  const uint32_t after = hwi_scopes_depth(events->scopes, thread);
  const struct hwi_scope_event ends = {.ns = hwi_scopes_latest_ns(events->scopes, thread),
                                       .path = hwi_scopes_path(events->scopes, thread),
                                       .ended = before - after,
                                       .thread = thread,
                                       .image = image,
                                       .op = HW_SCOPE_END};
  return after == before || events->sink->take_scope(events->sink->context, &ends) ? HWI_APPLIED : HWI_APPLIED_STOP;
}

/* Enters the scopes of rules that the event's stack matches, and leaves the others. */
static enum hwi_applied see_stack(const struct hwi_block_events *events, const struct hwi_resolved *event)
{
  struct hwi_scopes *scopes = events->scopes;
  const uint32_t thread = event->thread, before = hwi_scopes_depth(scopes, thread);
  if (!hwi_scopes_leave_rules(scopes, thread, event->stack))
    return HWI_APPLIED_NO_MEMORY;
  const uint32_t between = hwi_scopes_depth(scopes, thread);
  const struct hwi_scope_event begins = {.ns = events->now_ns, .thread = thread, .image = events->batch->image->number};
  enum hwi_applied applied = HWI_APPLIED;
  if (events->sink->take_scope)
    applied = report_left_rules(events, begins.image, thread, before);
  if (applied == HWI_APPLIED && !hwi_scopes_enter_rules(scopes, thread, event->stack, events->now_ns))
    applied = HWI_APPLIED_NO_MEMORY;
  if (applied != HWI_APPLIED || !events->sink->take_scope)
    return applied;
  return hwi_scope_events_begun(scopes, events->sink, begins, between) ? HWI_APPLIED : HWI_APPLIED_STOP;
}

static enum hwi_applied take_call(struct hwi_block_events *events, const struct hwi_event *event,
                                  const struct hwi_resolved *resolved)
{
  const bool has_stack = resolved->what == HWI_RESOLVED_ALLOC || resolved->what == HWI_RESOLVED_FAILED;
  const enum hwi_applied applied = events->scopes && has_stack ? see_stack(events, resolved) : HWI_APPLIED;
  if (events->scopes && events->sink->take_scope)
    hwi_scopes_pass_time(events->scopes, resolved->thread, events->now_ns);
  return applied == HWI_APPLIED ? report_event(events, event, resolved) : applied;
}

/* Leaves the scopes of rules, which are inside those that the program marked. */
static enum hwi_applied leave_rules(const struct hwi_block_events *events, uint32_t image, uint32_t thread)
{
  const uint32_t before = hwi_scopes_depth(events->scopes, thread);
  if (!hwi_scopes_leave_all_rules(events->scopes, thread))
    return HWI_APPLIED_NO_MEMORY;
  return events->sink->take_scope ? report_left_rules(events, image, thread, before) : HWI_APPLIED;
}

/* A mark, a counter's value and what a heap of the program's own does are no scopes, only events of their threads. */
static void pass_time_of_thread(const struct hwi_block_events *events, const struct hwi_resolved *event)
{
  if (events->scopes)
    hwi_scopes_pass_time(events->scopes, event->thread, events->now_ns);
}

/* Gives its text to an instance that has begun. It is taken also if the instance is too deep to be followed. */
static void find_text(const struct hwi_block_events *events, const struct hwi_resolved *event, bool has_begun)
{
  const bool has_text = events->sink->wants_texts && event->entry == HW_SCOPE_BEGIN_TEXT && event->usable <= UINT32_MAX;
  char *text = has_text ? hwi_trace_take_text(events->batch->image->trace, (uint32_t)event->usable) : NULL;
  if (text && has_begun)
    hwi_scopes_give_text(events->scopes, event->thread, text);
  else
    free(text);
}

static enum hwi_applied take_scope(struct hwi_block_events *events, const struct hwi_resolved *event)
{
  const enum hwi_applied left =
      events->scopes ? leave_rules(events, events->batch->image->number, event->thread) : HWI_APPLIED;
  if (left != HWI_APPLIED)
    return left;
  const uint32_t before = events->scopes ? hwi_scopes_depth(events->scopes, event->thread) : 0;
  if (!hwi_scopes_take(&events->scopes, events->resolver->thread_count, event, events->now_ns))
    return HWI_APPLIED_NO_MEMORY;
  find_text(events, event, hwi_scopes_depth(events->scopes, event->thread) > before);
  const struct hwi_scope_event told = {
      .ns = events->now_ns, .thread = event->thread, .image = events->batch->image->number, .op = event->entry};
  const bool goes_on = !events->sink->take_scope || hwi_scope_events_since(events->scopes, events->sink, told, before);
  return goes_on ? HWI_APPLIED : HWI_APPLIED_STOP;
}

bool hwi_block_events_end_scopes(const struct hwi_block_events *events, const struct hwi_replay_image *image)
{
  const struct hwi_hash_table *threads = &image->threads;
  if (!events->scopes || !events->sink->take_scope || !threads->slots)
    return true;
  for (size_t i = 0; i <= threads->mask; i++) {
    const uint32_t thread = threads->slots[i].number - 1;
    if (threads->slots[i].number && leave_rules(events, image->number, thread) != HWI_APPLIED)
      return false;
    if (threads->slots[i].number && !hwi_scope_events_end(events->scopes, events->sink, image->number, thread))
      return false;
  }
  return true;
}

/* --- batches --- */

static void pass_time(struct hwi_block_events *events, uint64_t tick)
{
  uint64_t ns = hwi_replay_image_ns(events->batch->image, tick);
  ns = ns < HWI_TRACE_LATEST_NS ? ns : HWI_TRACE_LATEST_NS;
  if (ns > events->now_ns)
    events->now_ns = ns;
}

/* Makes room for the stacks, threads and blocks that the batch is the first to name. Returns false if there is no
 * memory. */
static bool learn(struct hwi_block_events *events)
{
  const struct hwi_batch *batch = events->batch;
  const uint32_t first = events->resolver->stack_count - (uint32_t)batch->stack_count;
  if (!hwi_grow((void **)&events->entries, &events->entries_capacity, events->resolver->stack_count, 1) ||
      !hwi_grow((void **)&events->last_addresses, &events->thread_capacity, events->resolver->thread_count,
                sizeof *events->last_addresses) ||
      !hwi_table_grow((void **)&events->blocks, &events->block_capacity, (size_t)events->resolver->block_count + 1,
                      sizeof *events->blocks))
    return false;
  for (int i = 0; i < batch->stack_count; i++)
    events->entries[first + (uint32_t)i] = (uint8_t)batch->stacks[i].frame.entry;
  return !events->scopes || hwi_scopes_know_threads(events->scopes, events->resolver->thread_count);
}

enum hwi_applied hwi_block_events_apply(struct hwi_block_events *events, struct hwi_replay_image *image,
                                        const struct hwi_event *read, int count)
{
  struct hwi_batch *batch = events->batch;
  hwi_batch_begin(batch, image);
  if (!hwi_resolve(events->resolver, batch, read, count) || !learn(events))
    return HWI_APPLIED_NO_MEMORY;
  for (int i = 0; i < count; i++) {
    const struct hwi_resolved *event = &batch->events[i];
    enum hwi_applied applied = HWI_APPLIED;
    pass_time(events, event->tick);
    if (event->what == HWI_RESOLVED_HEAP || (event->what == HWI_RESOLVED_SCOPE && hwi_is_annotation(event)))
      pass_time_of_thread(events, event);
    else if (event->what != HWI_RESOLVED_SCOPE)
      applied = take_call(events, &read[i], event);
    else
      applied = take_scope(events, event);
    if (applied != HWI_APPLIED)
      return applied;
  }
  return HWI_APPLIED;
}

bool hwi_block_events_leave(const struct hwi_block_events *events, const struct hwi_replay_image *image, uint64_t ns)
{
  for (size_t i = 0; i <= image->live.mask; i++) {
    const struct hwi_live_slot *slot = &image->live.slots[i];
    struct hwi_block_event reported = {
        .ns = ns, .address = slot->address, .image = image->number, .kind = HWI_BLOCK_LEFT};
    if (!slot->address)
      continue;
    describe_block(events, slot->number, &reported);
    reported.thread = reported.owner;
    if (!report(events, &reported))
      return false;
  }
  return true;
}
