/* count_events.c - counts the events of a replay
 *
 * This is the hot path of every report. The cost of an event is its cache misses: the cell, and the cell's stack.
 */
#include "profile/counters/count_events.h"

#include <string.h>

#include "profile/counters/scope_events.h"
#include "trace/grow.h"
#include "trace/read/call_counts.h"
#include "trace/table.h"

bool hwi_replay_init(struct hwi_replay *replay, const struct hwi_span *span, uint64_t expected_ns)
{
  memset(replay, 0, sizeof *replay);
  replay->span = *span;
  replay->phase = span->kind == HWI_SPAN_RUN ? HWI_WITHIN_SPAN : HWI_BEFORE_SPAN;
  replay->expected_ns = expected_ns;
  hwi_timeline_init(&replay->timeline, 0, expected_ns, 0);
  hwi_class_timeline_init(&replay->class_timeline, 0, expected_ns);
  /* Growth is reported only for a whole run. */
  hwi_tenths_init(&replay->tenths, span->kind == HWI_SPAN_RUN ? expected_ns : 0);
  return hwi_resolver_init(&replay->resolver) && hwi_tally_init(&replay->tally);
}

void hwi_replay_freeze(struct hwi_replay *replay)
{
  hwi_resolver_freeze(&replay->resolver);
  hwi_table_release(replay->blocks, replay->block_capacity * sizeof *replay->blocks);
  replay->blocks = NULL;
  replay->block_capacity = 0;
  hwi_tally_freeze(&replay->tally);
}

void hwi_replay_release(struct hwi_replay *replay)
{
  hwi_replay_freeze(replay);
  hwi_resolver_release(&replay->resolver);
  hwi_tally_release(&replay->tally);
  hwi_history_release(&replay->history);
  free(replay->dropped.items);
  free(replay->dropped.slices);
}

/* Allocations in a thread's first second may belong to its start-up. */
static bool is_late(const struct hwi_replay *replay, uint32_t thread)
{
  return replay->now_ns - replay->tally.threads[thread].first_ns > HWI_NS_A_SECOND;
}

/* --- the history --- */

static inline struct hwi_live_sum live_now(const struct hwi_replay *replay)
{
  const struct hwi_level *level = &replay->level;
  return (struct hwi_live_sum){level->bytes, level->blocks, level->usable};
}

static bool note_birth(struct hwi_replay *replay, uint32_t cell, uint64_t size, uint32_t weight)
{
  struct hwi_cell_change *change = hwi_history_change(&replay->history, cell);
  struct hwi_slice *slice = hwi_history_now(&replay->history);
  if (!change)
    return false;
  const uint32_t owner = hwi_tally_thread_of(&replay->tally, hwi_tally_cell(&replay->tally, cell));
  change->calls = (change->calls + weight) & HWI_CHANGE_CALLS_MASK;
  slice->allocation_calls += weight;
  slice->allocated_bytes += weight * size;
  slice->max_bytes = replay->level.bytes > slice->max_bytes ? replay->level.bytes : slice->max_bytes;
  return hwi_class_peaks_begin(&replay->history.class_peaks, owner, size, weight);
}

static bool note_death(struct hwi_replay *replay, uint32_t cell_number, int ending, uint32_t weight)
{
  struct hwi_cell_change *change = hwi_history_change(&replay->history, cell_number);
  struct hwi_slice *slice = hwi_history_now(&replay->history);
  if (!change)
    return false;
  const struct hwi_cell *cell = hwi_tally_cell(&replay->tally, cell_number);
  hwi_class_peaks_end(&replay->history.class_peaks, hwi_tally_thread_of(&replay->tally, cell), cell->size, weight);
  change->ended[ending] += weight;
  slice->temporary_calls += ending == HWI_LIFETIME_TEMPORARY ? weight : 0;
  slice->min_bytes = replay->level.bytes < slice->min_bytes ? replay->level.bytes : slice->min_bytes;
  return true;
}

static bool advance_history(struct hwi_replay *replay, uint64_t ns)
{
  const struct hwi_live_sum live = live_now(replay);
  return ns < replay->history.slice_end_ns || hwi_history_advance(&replay->history, ns, &live);
}

bool hwi_replay_end_history(struct hwi_replay *replay, uint64_t ns)
{
  const struct hwi_live_sum live = live_now(replay);
  return !replay->history.is_kept || (advance_history(replay, ns) && hwi_history_end_slice(&replay->history, &live));
}

/* --- the end of a block --- */

/* Stops counting blocks of the cell as live; they stay in the table. Forced inline: a free has already loaded
 * most of these data. */
static inline __attribute__((always_inline)) void uncount_block(struct hwi_replay *replay,
                                                                struct hwi_replay_image *image, uint32_t cell_number,
                                                                uint64_t blocks)
{
  struct hwi_tally *tally = &replay->tally;
  struct hwi_cell *cell = hwi_tally_cell(tally, cell_number);
  hwi_touch(&tally->touched_cells, cell_number);
  hwi_tally_settle(tally, cell);
  const uint64_t bytes = blocks * cell->size, usable = blocks * cell->usable;
  cell->live -= blocks;
  struct hwi_stack_tally *stack = &tally->stacks[cell->stack];
  hwi_growth_touch(&stack->growth, &replay->tenths, stack->live_bytes);
  stack->live_bytes -= bytes;
  hwi_growth_fall(&stack->growth, stack->live_bytes);
  tally->sizes[cell->size_number].live -= blocks;
  tally->threads[hwi_tally_thread_of(tally, cell)].live_bytes -= bytes;
  image->live_bytes -= bytes;
  image->live_usable -= usable;
  image->live_blocks -= blocks;
  replay->level.bytes -= bytes;
  replay->level.usable -= usable;
  replay->level.blocks -= blocks;
}

/* Returns whether a container probably moved from the old block into the larger block that the thread just
 * allocated. */
static bool seems_outgrown(const struct hwi_replay *replay, const struct hwi_cell *newest, const struct hwi_cell *old)
{
  const struct hwi_stack_tally *stacks = replay->tally.stacks;
  const struct hwi_frame *to = &stacks[newest->stack].innermost, *from = &stacks[old->stack].innermost;
  return newest->size > old->size && hwi_entry_is_new(to->entry) && to->address == from->address &&
         to->module == from->module;
}

/* Counts a block that a realloc or a container replaced. `newest`: the cell of the block that the thread's latest call
 * allocated, or 0. Returns false if there is no memory. */
static bool note_replaced_block(struct hwi_replay *replay, struct hwi_thread_tally *thread, uint32_t newest,
                                const struct hwi_resolved *event, uint32_t cell)
{
  struct hwi_resize_tally *resizes = &replay->tally.resizes;
  if (event->moved) {
    thread->moving_cell = cell;
    thread->moving_address = event->address;
    return hwi_resizes_end_block(resizes, cell);
  }
  if (!newest || !hwi_entry_is_delete(event->entry))
    return true;
  const struct hwi_cell *to = hwi_tally_cell(&replay->tally, newest), *from = hwi_tally_cell(&replay->tally, cell);
  const struct hwi_resize step = {newest, from->size, to->size, true};
  return !seems_outgrown(replay, to, from) || (hwi_resizes_end_block(resizes, cell) && hwi_resizes_add(resizes, &step));
}

/* Counts a realloc that is complete. Returns false if there is no memory. */
static bool note_realloc(struct hwi_tally *tally, struct hwi_thread_tally *thread, uint32_t cell, uint64_t address)
{
  const struct hwi_resize step = {.to_cell = cell,
                                  .from_bytes = hwi_tally_cell(tally, thread->moving_cell)->size,
                                  .to_bytes = hwi_tally_cell(tally, cell)->size,
                                  .moved = thread->moving_address != address};
  thread->moving_cell = 0;
  return hwi_resizes_add(&tally->resizes, &step);
}

/* Notes the end of a block that was born in an earlier epoch. Returns false if there is no memory. */
static bool note_older_block(struct hwi_replay *replay, uint64_t address, const struct hwi_live_block *block,
                             bool is_temporary)
{
  const enum hwi_lifetime lifetime = hwi_lifetime_of(false, replay->now_ns - block->born_ns);
  return replay->older_blocks.take(replay->older_blocks.context,
                                   &(struct hwi_older_block){address, block->cell, lifetime, is_temporary});
}

/* Counts the call, which stands for `calls`, but not the end of the block. */
static void count_free_call(struct hwi_replay *replay, struct hwi_replay_image *image, const struct hwi_resolved *event,
                            uint32_t calls)
{
  struct hwi_tally *tally = &replay->tally;
  struct hwi_thread_tally *freer = &tally->threads[event->thread];
  image->totals.free_calls += calls;
  if (replay->history.is_kept)
    hwi_history_now(&replay->history)->free_calls += calls;
  freer->free_calls += calls;
  freer->late_free_calls += is_late(replay, event->thread) ? calls : 0;
  freer->newest_cell = freer->moving_cell = 0;
  if (!freer->sweep)
    freer->sweep = hwi_tally_next_sweep(tally);
  replay->timeline.points[replay->timeline.current].free_calls += calls;
}

static bool count_free(struct hwi_replay *replay, struct hwi_replay_image *image, const struct hwi_resolved *event)
{
  struct hwi_tally *tally = &replay->tally;
  struct hwi_thread_tally *freer = &tally->threads[event->thread];
  const uint32_t newest = freer->newest_cell, weight = event->weight;
  count_free_call(replay, image, event, weight);
  const struct hwi_live_block *block = &replay->blocks[event->block];
  struct hwi_cell *cell = hwi_tally_cell(tally, block->cell);
  const uint32_t owner_thread = hwi_tally_thread_of(tally, cell);
  const struct hwi_thread_tally *owner = &tally->threads[owner_thread];
  /* the owner's latest block? */
  const bool is_temporary = image->sample_bytes ? event->temporary : owner->last_address == event->address;
  cell->temporary_calls += is_temporary ? weight : 0;
  image->totals.temporary_calls += is_temporary ? weight : 0;
  struct hwi_stack_tally *stack = &tally->stacks[cell->stack];
  const enum hwi_lifetime lifetime = block->age ? hwi_lifetime_of_age(is_temporary, block->age)
                                                : hwi_lifetime_of(is_temporary, replay->now_ns - block->born_ns);
  stack->ended[lifetime] += weight;
  if (block->born_ns < replay->epoch_ns && !note_older_block(replay, event->address, block, is_temporary))
    return false;
  hwi_sweeps_death(&stack->sweeps, freer->sweep, cell->size);
  if (owner_thread != event->thread) {
    const struct hwi_handover handover = {owner_thread, event->thread, weight, weight * cell->size};
    freer->foreign_frees += weight;
    if (!hwi_handovers_add(&tally->handovers, &handover) ||
        (replay->history.is_kept && !hwi_handovers_add(&replay->history.handovers_now, &handover)))
      return false;
  }
  const struct hwi_scope_call call = {replay->now_ns, cell->size, event->thread, cell->stack, weight - 1};
  if (tally->scopes && !hwi_scopes_free(tally->scopes, &call))
    return false;
  if ((newest || event->moved) && !image->sample_bytes &&
      !note_replaced_block(replay, freer, newest, event, block->cell))
    return false;
  uncount_block(replay, image, block->cell, weight);
  return !replay->history.is_kept || note_death(replay, block->cell, (int)lifetime, weight);
}

static bool count_free_without_block(struct hwi_replay *replay, struct hwi_replay_image *image,
                                     const struct hwi_resolved *event)
{
  struct hwi_totals *totals = &image->totals;
  count_free_call(replay, image, event, 1);
  if (event->what == HWI_RESOLVED_FREE_INHERITED)
    totals->inherited_frees++;
  else if (hwi_replay_image_was_paused(image, replay->now_ns))
    totals->frees_of_silent_blocks++;
  else
    totals->unmatched_frees++;
  const struct hwi_scope_call call = {.ns = replay->now_ns, .thread = event->thread};
  return !replay->tally.scopes || hwi_scopes_free(replay->tally.scopes, &call);
}

/* --- the birth of a block --- */

static void note_peaks(struct hwi_replay *replay, struct hwi_replay_image *image)
{
  struct hwi_totals *totals = &image->totals;
  if (image->live_bytes > totals->peak_bytes) {
    totals->peak_bytes = image->live_bytes;
    totals->peak_blocks = image->live_blocks;
    totals->peak_usable_bytes = image->live_usable;
    totals->peak_time_ns = replay->now_ns - image->offset_ns;
  }
  struct hwi_time_point *point = &replay->timeline.points[replay->timeline.current];
  struct hwi_level *level = &replay->level;
  if (level->bytes > point->max_bytes)
    point->max_bytes = level->bytes;
  if (level->bytes > level->peak_bytes) {
    level->peak_bytes = level->bytes;
    level->peak_blocks = level->blocks;
    level->peak_usable = level->usable;
    level->peak_ns = replay->now_ns;
    hwi_tally_new_peak(&replay->tally);
  }
}

/* Ends the block that was live at the event's address, but counts no free call. */
static bool end_replaced(struct hwi_replay *replay, struct hwi_replay_image *image, const struct hwi_resolved *event)
{
  const struct hwi_live_block *block = &replay->blocks[event->block];
  if (block->born_ns < replay->epoch_ns && !note_older_block(replay, event->address, block, false))
    return false;
  image->totals.missed_frees += event->replaced_weight;
  replay->tally.stacks[hwi_tally_cell(&replay->tally, block->cell)->stack].missed_frees += event->replaced_weight;
  uncount_block(replay, image, block->cell, event->replaced_weight);
  return !replay->history.is_kept || note_death(replay, block->cell, HWI_ENDING_UNSEEN, event->replaced_weight);
}

/* Enters the scopes of rules that the event's stack matches. Returns false if there is no memory. */
static inline bool see_stack(const struct hwi_replay *replay, const struct hwi_resolved *event)
{
  struct hwi_scopes *scopes = replay->tally.scopes;
  return __builtin_expect(!scopes, 1) || (hwi_scopes_leave_rules(scopes, event->thread, event->stack) &&
                                          hwi_scopes_enter_rules(scopes, event->thread, event->stack, replay->now_ns));
}

/* To be called if the cell of a block is not known. Returns false. */
static __attribute__((noinline)) bool fail_without_cell(const struct hwi_tally *tally, struct hwi_replay_image *image)
{
  if (tally->complete)
    hwi_error_set(&image->error, HW_ERR_DAMAGED, "the epochs of the summary do not have a cell of the recording");
  return false;
}

static bool count_alloc(struct hwi_replay *replay, struct hwi_replay_image *image, const struct hwi_resolved *event)
{
  struct hwi_tally *tally = &replay->tally;
  const uint32_t thread = event->thread;
  const uint64_t size = event->size, weight = event->weight, bytes = weight * size, usable = weight * event->usable;
  if (!see_stack(replay, event))
    return false;
  const uint32_t cell_number =
      hwi_tally_find_cell(tally, hwi_tally_context(tally, thread), event->stack, size, event->usable);
  if (!cell_number)
    return fail_without_cell(tally, image);
  if (!hwi_table_grow((void **)&replay->blocks, &replay->block_capacity, (size_t)event->block + 1,
                      sizeof *replay->blocks))
    return false;
  if (event->replaces && !end_replaced(replay, image, event))
    return false;
  replay->blocks[event->block] = (struct hwi_live_block){.born_ns = replay->now_ns, .cell = cell_number};

  struct hwi_cell *cell = hwi_tally_cell(tally, cell_number);
  hwi_tally_settle(tally, cell);
  hwi_touch(&tally->touched_cells, cell_number);
  cell->calls += weight;
  cell->live += weight;
  struct hwi_stack_tally *stack = &tally->stacks[event->stack];
  if (!stack->called) {
    stack->called = true;
    stack->first_ns = replay->now_ns;
  }
  stack->last_ns = replay->now_ns;
  hwi_growth_touch(&stack->growth, &replay->tenths, stack->live_bytes);
  stack->live_bytes += bytes;
  if (stack->live_bytes > stack->own_peak_bytes)
    stack->own_peak_bytes = stack->live_bytes;
  hwi_sweeps_birth(&stack->sweeps);
  struct hwi_size_tally *of_size = &tally->sizes[cell->size_number];
  of_size->live += weight;
  if (of_size->live > of_size->own_peak)
    of_size->own_peak = of_size->live;
  struct hwi_thread_tally *owner = &tally->threads[thread];
  owner->last_address = event->address;
  owner->newest_cell = cell_number;
  owner->sweep = 0;
  if (owner->moving_cell && event->moved && !image->sample_bytes &&
      !note_realloc(tally, owner, cell_number, event->address))
    return false;
  const struct hwi_scope_call call = {replay->now_ns, size, thread, event->stack, event->weight - 1};
  if (tally->scopes && !hwi_scopes_alloc(tally->scopes, &call))
    return false;
  owner->late_allocation_calls += is_late(replay, thread) ? weight : 0;
  owner->live_bytes += bytes;
  if (owner->live_bytes > owner->own_peak_bytes)
    owner->own_peak_bytes = owner->live_bytes;

  image->totals.allocation_calls += weight;
  image->totals.allocated_bytes += bytes;
  image->totals.usable_bytes += usable;
  image->live_bytes += bytes;
  image->live_usable += usable;
  image->live_blocks += weight;
  replay->level.bytes += bytes;
  replay->level.blocks += weight;
  replay->level.usable += usable;
  struct hwi_time_point *point = &replay->timeline.points[replay->timeline.current];
  point->allocation_calls += weight;
  point->allocated_bytes += bytes;
  note_peaks(replay, image);
  return !replay->history.is_kept || note_birth(replay, cell_number, size, event->weight);
}

static bool count_failed(struct hwi_replay *replay, struct hwi_replay_image *image, const struct hwi_resolved *event)
{
  struct hwi_tally *tally = &replay->tally;
  if (!see_stack(replay, event))
    return false;
  image->totals.failed_calls++;
  if (replay->history.is_kept)
    hwi_history_now(&replay->history)->failed_calls++;
  tally->stacks[event->stack].failed_calls++;
  hwi_touch(&tally->touched_stacks, event->stack);
  tally->threads[event->thread].failed_calls++;
  tally->threads[event->thread].newest_cell = 0;
  const struct hwi_scope_call call = {.ns = replay->now_ns, .thread = event->thread, .stack = event->stack};
  return !tally->scopes || hwi_scopes_failed(tally->scopes, &call);
}

/* What counts for no scope is an event of its thread, too: it may be the last one in a scope. */
static void pass_time_of_thread(const struct hwi_replay *replay, uint32_t thread)
{
  if (replay->tally.scopes)
    hwi_scopes_pass_time(replay->tally.scopes, thread, replay->now_ns);
}

/* A mark or a counter's value. An interval of the history can begin exactly at a mark. */
static bool take_annotation(struct hwi_replay *replay, const struct hwi_resolved *event)
{
  pass_time_of_thread(replay, event->thread);
  if (!hwi_annotations_take(&replay->tally.annotations, event, replay->now_ns))
    return false;
  if (event->entry != HW_SCOPE_MARK || !replay->history.is_kept)
    return true;
  const char *text = replay->resolver.scope_names.strings[event->size].text;
  const struct hwi_live_sum live = live_now(replay);
  return hwi_history_cut(&replay->history, replay->now_ns,
                         strcmp(text, HWI_RESET_MARK) == 0 ? HWI_CUT_RESET : HWI_CUT_MARK, &live);
}

static bool take_heap(struct hwi_replay *replay, const struct hwi_replay_image *image, const struct hwi_resolved *event)
{
  pass_time_of_thread(replay, event->thread);
  return hwi_heap_tally_take(&replay->tally.heaps, image, event, replay->now_ns);
}

/* --- calls of a run that is followed --- */

/* Describes an event that was counted. */
static struct hwi_block_event describe(const struct hwi_replay *replay, const struct hwi_replay_image *image,
                                       const struct hwi_resolved *event)
{
  const struct hwi_tally *tally = &replay->tally;
  const bool has_stack = event->what == HWI_RESOLVED_ALLOC || event->what == HWI_RESOLVED_FAILED;
  struct hwi_block_event call = {.ns = replay->now_ns,
                                 .address = event->address,
                                 .size = event->size,
                                 .stack = event->stack,
                                 .owner = event->thread,
                                 .thread = event->thread,
                                 .image = image->number,
                                 .kind = event->what == HWI_RESOLVED_ALLOC    ? HWI_BLOCK_ALLOC
                                         : event->what == HWI_RESOLVED_FAILED ? HWI_BLOCK_FAILED
                                         : event->what == HWI_RESOLVED_FREE   ? HWI_BLOCK_FREE
                                                                              : HWI_BLOCK_FREE_UNKNOWN,
                                 .entry =
                                     has_stack ? (uint8_t)tally->stacks[event->stack].innermost.entry : event->entry,
                                 .moved = event->moved,
                                 .weight = event->weight};
  if (event->what == HWI_RESOLVED_FREE) {
    const struct hwi_cell *cell = hwi_tally_cell(tally, replay->blocks[event->block].cell);
    call.size = cell->size;
    call.stack = cell->stack;
    call.owner = hwi_tally_thread_of(tally, cell);
  }
  return call;
}

/* Returns false if there is no memory. */
static __attribute__((noinline)) bool follow_call(struct hwi_replay *replay, const struct hwi_batch *batch,
                                                  const struct hwi_resolved *event)
{
  struct hwi_timed_calls *timed_calls = &replay->history.timed_calls;
  const struct hwi_replay_image *image = batch->image;
  timed_calls->is_timed |= image->has_durations;
  if (event->what == HWI_RESOLVED_SCOPE || event->what == HWI_RESOLVED_HEAP ||
      (!timed_calls->is_timed && !replay->tally.scopes))
    return true;
  struct hwi_block_event call = describe(replay, image, event);
  hwi_instance_list_count(&replay->history.instances, &call);
  if (!timed_calls->is_timed)
    return true;
  const uint64_t took = image->has_durations ? batch->took[event - batch->events] : 0;
  call.timed = took;
  call.took_ns = took ? hwi_trace_units_ns(image->trace, took - 1) : 0;
  return hwi_timed_calls_add(timed_calls, &call);
}

/* --- a batch --- */

static uint64_t min(uint64_t a, uint64_t b)
{
  return a < b ? a : b;
}

/* Returns the next end of a slice of the timeline, a point of the class timeline, or a tenth of the run. */
static uint64_t next_due_ns(const struct hwi_replay *replay)
{
  const uint64_t of_history = replay->history.is_kept ? replay->history.slice_end_ns : UINT64_MAX;
  return min(min(min(replay->timeline.slice_end_ns, replay->class_timeline.next_ns), replay->tenths.end_ns),
             of_history);
}

/* Ends the slices, points and tenths that are over at `ns`. Returns the time at which the next one ends, or 0 if there is
 * no memory. */
static __attribute__((noinline)) uint64_t end_due(struct hwi_replay *replay, uint64_t ns)
{
  if (replay->history.is_kept && !advance_history(replay, ns))
    return 0;
  if (ns >= replay->timeline.slice_end_ns)
    hwi_timeline_advance(&replay->timeline, ns, replay->level.bytes, replay->level.blocks);
  if (ns >= replay->class_timeline.next_ns)
    hwi_class_timeline_advance(&replay->class_timeline, ns, &replay->tally);
  if (ns >= replay->tenths.end_ns)
    hwi_tenths_advance(&replay->tenths, ns);
  return next_due_ns(replay);
}

/* Returns false if there is no memory. */
static inline bool pass_time(struct hwi_replay *replay, uint64_t ns, uint64_t *due_ns)
{
  ns = min(ns, HWI_TRACE_LATEST_NS);
  if (ns <= replay->now_ns)
    return true;
  replay->now_ns = ns;
  if (ns >= *due_ns)
    *due_ns = end_due(replay, ns);
  return *due_ns != 0;
}

/* Returns whether the event names a thread or a stack that has no counters yet; `stack` is 0 if it names none. */
static inline bool names_new(const struct hwi_tally *tally, const struct hwi_resolved *event)
{
  return event->thread >= tally->thread_count || event->stack >= tally->stack_count;
}

/* Adds counters for the thread and the stack that the event is the first to name. Returns false if there is no
 * memory. */
static __attribute__((noinline)) bool add_counters(struct hwi_replay *replay, struct hwi_batch *batch,
                                                   const struct hwi_resolved *event)
{
  struct hwi_tally *tally = &replay->tally;
  if (event->thread >= tally->thread_count) {
    if (!hwi_tally_add_thread(tally, event->thread, &batch->threads[batch->counted_threads++]))
      return false;
    tally->threads[event->thread].first_ns = replay->now_ns;
  }
  return event->stack < tally->stack_count ||
         hwi_tally_add_stack(tally, event->stack, &batch->stacks[batch->counted_stacks++]);
}

static bool list_instance(void *instances, const struct hwi_scope_event *event)
{
  return hwi_instance_list_take(instances, event);
}

static struct hwi_block_sink instances_of(struct hwi_replay *replay)
{
  return (struct hwi_block_sink){.take_scope = list_instance, .context = &replay->history.instances};
}

static bool take_scope(struct hwi_replay *replay, const struct hwi_replay_image *image,
                       const struct hwi_resolved *event)
{
  struct hwi_tally *tally = &replay->tally;
  const uint32_t before = replay->history.is_kept && tally->scopes ? hwi_scopes_depth(tally->scopes, event->thread) : 0;
  if (!tally->scopes && tally->wants_instance_details) {
    tally->scopes = hwi_scopes_create();
    if (!tally->scopes)
      return false;
    hwi_scopes_want_details(tally->scopes);
  }
  if (!hwi_scopes_take(&tally->scopes, tally->thread_count, event, replay->now_ns))
    return false;
  const struct hwi_block_sink sink = instances_of(replay);
  const struct hwi_scope_event told = {
      .ns = replay->now_ns, .thread = event->thread, .image = image->number, .op = event->entry};
  return !replay->history.is_kept || hwi_scope_events_since(tally->scopes, &sink, told, before);
}

bool hwi_replay_count(struct hwi_replay *replay, struct hwi_batch *batch, int first, int count)
{
  struct hwi_replay_image *image = batch->image;
  uint64_t due_ns = next_due_ns(replay);
  bool done = true;
  for (const struct hwi_resolved *event = batch->events + first, *end = event + count; done && event < end; event++) {
    if (!pass_time(replay, hwi_replay_image_ns(image, event->tick), &due_ns))
      return false;
    if (names_new(&replay->tally, event) && !add_counters(replay, batch, event))
      return false;
    if (event->what == HWI_RESOLVED_ALLOC)
      done = count_alloc(replay, image, event);
    else if (event->what == HWI_RESOLVED_FREE)
      done = count_free(replay, image, event);
    else if (event->what == HWI_RESOLVED_FAILED)
      done = count_failed(replay, image, event);
    else if (event->what == HWI_RESOLVED_SCOPE && hwi_is_annotation(event))
      done = take_annotation(replay, event);
    else if (event->what == HWI_RESOLVED_HEAP)
      done = take_heap(replay, image, event);
    else if (event->what == HWI_RESOLVED_SCOPE)
      done = take_scope(replay, image, event);
    else
      done = count_free_without_block(replay, image, event);
    if (replay->history.is_kept && done)
      done = follow_call(replay, batch, event);
  }
  return done;
}

/* --- the span --- */

bool hwi_replay_phase_is_over(const struct hwi_replay *replay, uint64_t ns)
{
  const struct hwi_span *span = &replay->span;
  if (span->bytes && replay->phase == HWI_BEFORE_SPAN && replay->now_ns >= span->from_ns &&
      replay->level.bytes == span->bytes)
    return true;
  return ns >= hwi_span_phase_end_ns(span, replay->phase);
}

int hwi_replay_events_in_phase(const struct hwi_replay *replay, const struct hwi_replay_image *image,
                               const struct hwi_event *events, int count)
{
  if (replay->span.kind == HWI_SPAN_RUN)
    return count;
  for (int i = 0; i < count; i++) {
    uint64_t ns = hwi_replay_image_ns(image, events[i].tick);
    ns = ns > replay->now_ns ? ns : replay->now_ns;
    if (hwi_replay_phase_is_over(replay, ns))
      return i;
    if (replay->span.bytes && ns >= replay->span.from_ns)
      return i + 1; /* the phase of the next event depends on the bytes that are live then */
  }
  return count;
}

bool hwi_replay_next_phase(struct hwi_replay *replay)
{
  const struct hwi_span *span = &replay->span;
  struct hwi_level *level = &replay->level;
  if (++replay->phase != HWI_WITHIN_SPAN)
    return true;
  level->peak_bytes = level->bytes;
  level->peak_blocks = level->blocks;
  level->peak_usable = level->usable;
  level->peak_ns = span->from_ns;
  if (replay->tally.heaps)
    hwi_heap_tally_restart(replay->tally.heaps, span->from_ns);
  uint64_t end_ns = span->to_ns < replay->expected_ns ? span->to_ns : replay->expected_ns;
  uint64_t expected_ns = end_ns > span->from_ns ? end_ns - span->from_ns : 0;
  hwi_timeline_init(&replay->timeline, span->from_ns, expected_ns, level->bytes);
  hwi_class_timeline_init(&replay->class_timeline, span->from_ns, expected_ns);
  return hwi_tally_restart(&replay->tally);
}

/* --- all calls, in a sample --- */

static void add_counts(struct hwi_call_counts *calls, const uint64_t counts[HW_COUNTS])
{
  calls->allocation_calls += counts[HW_COUNT_ALLOCATIONS];
  calls->allocated_bytes += counts[HW_COUNT_BYTES];
  calls->free_calls += counts[HW_COUNT_FREES];
  calls->known = true;
}

/* Returns the calls of the thread with this number in the trace, which may have no event. NULL: no memory. */
static struct hwi_call_counts *calls_of(struct hwi_replay *replay, struct hwi_replay_image *image, uint32_t number)
{
  struct hwi_tally *tally = &replay->tally;
  const uint32_t thread = hwi_replay_image_find_thread(image, number, &replay->resolver) - 1;
  if (thread == UINT32_MAX)
    return NULL;
  if (thread >= tally->thread_count &&
      !hwi_tally_add_thread(tally, thread, &(struct hwi_new_thread){image->number, number}))
    return NULL;
  return &tally->threads[thread].calls;
}

/* Only for a whole run is it known which calls belong to it. While it goes on, they are those up to the last look. */
static size_t all_calls(const struct hwi_replay *replay, const struct hwi_replay_image *image,
                        const struct hwi_chunk_counts **chunks)
{
  const size_t count = hwi_trace_call_counts(image->trace, chunks);
  return image->sample_bytes && replay->span.kind == HWI_SPAN_RUN ? count : 0;
}

bool hwi_replay_know_threads(struct hwi_replay *replay, struct hwi_replay_image *image)
{
  const struct hwi_chunk_counts *chunks;
  const size_t count = all_calls(replay, image, &chunks);
  bool done = true;
  for (size_t i = 0; i < count && done; i++)
    done = hwi_replay_image_find_thread(image, chunks[i].thread, &replay->resolver) > 0;
  return done;
}

/* Returns false if there is no memory. */
static bool take_all_calls(struct hwi_replay *replay, struct hwi_replay_image *image)
{
  const struct hwi_chunk_counts *chunks;
  const size_t count = all_calls(replay, image, &chunks);
  for (size_t i = 0; i < count; i++) {
    struct hwi_call_counts *of_thread = calls_of(replay, image, chunks[i].thread);
    if (!of_thread)
      return false;
    add_counts(of_thread, chunks[i].counts);
    add_counts(&image->calls, chunks[i].counts);
  }
  if (!count)
    return true;
  image->totals.allocation_calls = image->calls.allocation_calls;
  image->totals.allocated_bytes = image->calls.allocated_bytes;
  image->totals.free_calls = image->calls.free_calls;
  return true;
}

/* --- the end of an image --- */

static bool end_scopes(struct hwi_replay *replay, const struct hwi_replay_image *image, uint32_t thread)
{
  struct hwi_scopes *scopes = replay->tally.scopes;
  const struct hwi_block_sink sink = instances_of(replay);
  return (!replay->history.is_kept || hwi_scope_events_end(scopes, &sink, image->number, thread)) &&
         hwi_scopes_end_thread(scopes, thread);
}

bool hwi_replay_end_image(struct hwi_replay *replay, struct hwi_replay_image *image, uint64_t ns, bool others_go_on)
{
  struct hwi_tally *tally = &replay->tally;
  if (!take_all_calls(replay, image))
    return false;
  image->totals.live_blocks_at_end = image->live_blocks;
  image->totals.live_bytes_at_end = image->live_bytes;
  if (replay->phase == HWI_AFTER_SPAN) /* it ends after the span */
    return true;
  for (uint32_t i = 0; tally->scopes && i < tally->thread_count; i++)
    if (tally->threads[i].image == image->number && !end_scopes(replay, image, i))
      return false;
  if (tally->scopes && !hwi_scopes_end_tasks(tally->scopes, image->number))
    return false;
  if (tally->heaps && others_go_on)
    hwi_heap_tally_end_image(tally->heaps, image);
  uint64_t due_ns = next_due_ns(replay);
  if (!pass_time(replay, ns, &due_ns))
    return false;
  if (!others_go_on)
    return true;
  if (!hwi_grow((void **)&tally->ended, &tally->ended_capacity, tally->cell_count, sizeof *tally->ended))
    return false;
  for (size_t i = 0; i <= image->live.mask; i++) {
    const struct hwi_live_slot *slot = &image->live.slots[i];
    if (!slot->address)
      continue;
    const uint32_t cell = replay->blocks[slot->number].cell;
    uncount_block(replay, image, cell, slot->weight);
    tally->ended[cell] += slot->weight;
    if (replay->history.is_kept && !note_death(replay, cell, HWI_ENDING_LEFT, slot->weight))
      return false;
  }
  return true;
}
