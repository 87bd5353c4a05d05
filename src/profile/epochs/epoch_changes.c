/* epoch_changes.c - finds what an epoch changed in a replay's counters
 *
 * The changes are found when the epoch ends, by comparing the counters that it touched with copies of their earlier
 * values. An event costs setting a bit and, when a block ends, comparing the block's birth with the epoch's start.
 * Copies of cells and stacks that no epoch touches are never read, so that many short epochs of a large program cost
 * little more than few long ones.
 *
 * Invariant between epochs: the maximum of every stack, size and thread is its current level, no stack is marked as
 * called, no cell or stack is touched, and the copies are equal to the tally.
 */
#include "profile/epochs/epoch_changes.h"

#include <stdlib.h>
#include <string.h>

#include "trace/grow.h"

/* A cell, stack or size at the start of the epoch. */
struct cell_before {
  uint64_t calls, temporary_calls, live;
};

struct stack_before {
  uint64_t live_bytes, ended[HWI_LIFETIMES_ENDED], failed_calls, missed_frees;
  uint64_t own_peak_bytes, first_ns; /* of the run so far */
  bool called;                       /* likewise */
};

struct size_before {
  uint64_t live, own_peak;
};

struct work {
  struct hwi_changes *changes;
  struct hwi_tally *tally;
  const struct hwi_totals *totals;
  struct hwi_epoch *epoch;
  bool *allocated; /* by thread: whether it allocated */
};

static bool cover(struct hwi_list *rows, size_t count, size_t item_bytes)
{
  bool done = hwi_grow(&rows->items, &rows->capacity, count, item_bytes);
  if (done)
    rows->count = count;
  return done;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
  return a > b ? a : b;
}

static void *add(struct hwi_epoch *epoch, enum hwi_epoch_list list)
{
  return hwi_list_add(&epoch->lists[list], hwi_epoch_item_bytes(list));
}

static bool take_cells(struct work *w)
{
  struct hwi_tally *tally = w->tally;
  size_t at = 0;
  if (!cover(&w->changes->cells, tally->cell_count, sizeof(struct cell_before)) ||
      !hwi_touched_cover(&tally->touched_stacks, tally->stack_count))
    return false;
  struct cell_before *all_before = w->changes->cells.items;
  for (uint32_t number; (number = hwi_touched_take(&tally->touched_cells, &at));) {
    const struct hwi_cell *cell = hwi_tally_cell(tally, number);
    struct cell_before *before = &all_before[number];
    struct hwi_epoch_cell *item = add(w->epoch, HWI_EPOCH_CELLS);
    if (!item)
      return false;
    *item = (struct hwi_epoch_cell){.number = number,
                                    .calls = cell->calls - before->calls,
                                    .temporary_calls = cell->temporary_calls - before->temporary_calls,
                                    .live = cell->live - before->live};
    const uint32_t thread = hwi_tally_thread_of(tally, cell);
    w->allocated[thread] = w->allocated[thread] || item->calls;
    hwi_touch(&tally->touched_stacks, cell->stack);
    *before = (struct cell_before){cell->calls, cell->temporary_calls, cell->live};
  }
  return true;
}

static struct hwi_epoch_stack stack_change(uint32_t number, const struct hwi_stack_tally *stack,
                                           const struct stack_before *before)
{
  struct hwi_epoch_stack item = {.number = number,
                                 .rise = stack->own_peak_bytes - before->live_bytes,
                                 .failed_calls = stack->failed_calls - before->failed_calls,
                                 .missed_frees = stack->missed_frees - before->missed_frees,
                                 .called = stack->called};
  for (int i = 0; i < HWI_LIFETIMES_ENDED; i++)
    item.ended[i] = stack->ended[i] - before->ended[i];
  if (stack->called) {
    item.first_ns = stack->first_ns;
    item.last_ns = stack->last_ns;
  }
  return item;
}

static bool take_stacks(struct work *w)
{
  struct hwi_tally *tally = w->tally;
  size_t at = 0;
  if (!cover(&w->changes->stacks, tally->stack_count, sizeof(struct stack_before)))
    return false;
  struct stack_before *all_before = w->changes->stacks.items;
  for (uint32_t number; (number = hwi_touched_take(&tally->touched_stacks, &at));) {
    struct hwi_stack_tally *stack = &tally->stacks[number];
    struct stack_before *before = &all_before[number];
    struct hwi_epoch_stack *item = add(w->epoch, HWI_EPOCH_STACKS);
    if (!item)
      return false;
    *item = stack_change(number, stack, before);
    before->live_bytes = stack->live_bytes;
    before->failed_calls = stack->failed_calls;
    before->missed_frees = stack->missed_frees;
    memcpy(before->ended, stack->ended, sizeof before->ended);
    before->own_peak_bytes = larger(before->own_peak_bytes, stack->own_peak_bytes);
    if (stack->called && !before->called)
      before->first_ns = stack->first_ns;
    before->called = before->called || stack->called;
    stack->own_peak_bytes = stack->live_bytes;
    stack->called = false;
  }
  return true;
}

static bool take_sizes(struct work *w)
{
  struct hwi_tally *tally = w->tally;
  if (!cover(&w->changes->sizes, tally->size_count, sizeof(struct size_before)))
    return false;
  struct size_before *before = w->changes->sizes.items;
  for (size_t i = 1; i < tally->size_count; i++) {
    struct hwi_size_tally *size = &tally->sizes[i];
    uint64_t rise = size->own_peak - before[i].live;
    if (rise) {
      struct hwi_epoch_size *item = add(w->epoch, HWI_EPOCH_SIZES);
      if (!item)
        return false;
      *item = (struct hwi_epoch_size){rise, (uint32_t)i};
    }
    before[i] = (struct size_before){size->live, larger(before[i].own_peak, size->own_peak)};
    size->own_peak = size->live;
  }
  return true;
}

static bool is_unchanged(const struct hwi_thread_tally *thread, const struct hwi_thread_tally *before, bool allocated)
{
  return !allocated && thread->free_calls == before->free_calls && thread->failed_calls == before->failed_calls &&
         thread->newest_cell == before->newest_cell && thread->moving_cell == before->moving_cell;
}

/* To be called before the copies of the threads are overwritten: `before` has the maxima of the run. */
static bool take_threads(struct work *w)
{
  struct hwi_tally *tally = w->tally;
  if (!cover(&w->changes->threads, tally->thread_count, sizeof(struct hwi_thread_tally)))
    return false;
  struct hwi_thread_tally *all_before = w->changes->threads.items;
  for (size_t i = 0; i < tally->thread_count; i++) {
    struct hwi_thread_tally *thread = &tally->threads[i], *before = &all_before[i];
    if (!is_unchanged(thread, before, w->allocated[i])) {
      struct hwi_epoch_thread *item = add(w->epoch, HWI_EPOCH_THREADS);
      if (!item)
        return false;
      *item = (struct hwi_epoch_thread){
          .number = (uint32_t)i,
          .rise = thread->own_peak_bytes - before->live_bytes,
          .free_calls = thread->free_calls - before->free_calls,
          .foreign_frees = thread->foreign_frees - before->foreign_frees,
          .failed_calls = thread->failed_calls - before->failed_calls,
          .late_allocation_calls = thread->late_allocation_calls - before->late_allocation_calls,
          .late_free_calls = thread->late_free_calls - before->late_free_calls,
          .last_address = w->allocated[i] ? thread->last_address : 0,
          .moving_address = thread->moving_address,
          .newest_cell = thread->newest_cell,
          .moving_cell = thread->moving_cell,
      };
    }
    uint64_t own_peak_bytes = larger(before->own_peak_bytes, thread->own_peak_bytes);
    thread->own_peak_bytes = thread->live_bytes;
    *before = *thread;
    before->own_peak_bytes = own_peak_bytes;
  }
  return true;
}

static bool take_steps(struct work *w)
{
  const struct hwi_resize_tally *resizes = &w->tally->resizes;
  if (!cover(&w->changes->steps, resizes->indices.count, sizeof(struct hwi_cell_resizes)))
    return false;
  struct hwi_cell_resizes *before = w->changes->steps.items;
  for (size_t i = 0; i < resizes->indices.count; i++) {
    const struct hwi_cell_resizes *now = &resizes->items[i].counts;
    if (now->steps.steps == before[i].steps.steps && now->ended == before[i].ended)
      continue;
    struct hwi_epoch_steps *item = add(w->epoch, HWI_EPOCH_STEPS);
    if (!item)
      return false;
    item->cell = resizes->items[i].cell;
    item->changes = *now;
    item->changes.steps.steps -= before[i].steps.steps;
    item->changes.steps.moved -= before[i].steps.moved;
    item->changes.steps.copied_bytes -= before[i].steps.copied_bytes;
    item->changes.steps.grown -= before[i].steps.grown;
    item->changes.steps.grown_copied_bytes -= before[i].steps.grown_copied_bytes;
    item->changes.ended -= before[i].ended;
    before[i] = *now;
  }
  return true;
}

static bool take_handovers(struct work *w)
{
  const struct hwi_handover_tally *handovers = &w->tally->handovers;
  if (!cover(&w->changes->handovers, handovers->pairs.count, sizeof(struct hwi_handover)))
    return false;
  struct hwi_handover *before = w->changes->handovers.items;
  for (size_t i = 0; i < handovers->pairs.count; i++) {
    const struct hwi_handover *now = &handovers->items[i];
    if (now->blocks == before[i].blocks)
      continue;
    struct hwi_handover *item = add(w->epoch, HWI_EPOCH_HANDOVERS);
    if (!item)
      return false;
    *item = *now;
    item->blocks -= before[i].blocks;
    item->bytes -= before[i].bytes;
    before[i] = *now;
  }
  return true;
}

static void take_totals(struct work *w)
{
  const struct hwi_totals *now = w->totals, *before = &w->changes->totals;
  w->epoch->totals = (struct hwi_totals){
      .allocation_calls = now->allocation_calls - before->allocation_calls,
      .free_calls = now->free_calls - before->free_calls,
      .failed_calls = now->failed_calls - before->failed_calls,
      .temporary_calls = now->temporary_calls - before->temporary_calls,
      .allocated_bytes = now->allocated_bytes - before->allocated_bytes,
      .usable_bytes = now->usable_bytes - before->usable_bytes,
      .unmatched_frees = now->unmatched_frees - before->unmatched_frees,
      .missed_frees = now->missed_frees - before->missed_frees,
      .frees_of_silent_blocks = now->frees_of_silent_blocks - before->frees_of_silent_blocks,
  };
  w->changes->totals = *now;
}

bool hwi_changes_take(struct hwi_changes *changes, struct hwi_tally *tally, const struct hwi_totals *totals,
                      struct hwi_epoch *epoch)
{
  struct work work = {changes, tally, totals, epoch, calloc(tally->thread_count + 1, sizeof *work.allocated)};
  bool done = work.allocated && take_cells(&work) && take_stacks(&work) && take_sizes(&work) && take_threads(&work) &&
              take_steps(&work) && take_handovers(&work);
  free(work.allocated);
  if (done)
    take_totals(&work);
  return done;
}

void hwi_changes_restore(const struct hwi_changes *changes, struct hwi_tally *tally)
{
  const struct stack_before *stacks = changes->stacks.items;
  for (size_t i = 1; i < changes->stacks.count; i++) {
    tally->stacks[i].own_peak_bytes = stacks[i].own_peak_bytes;
    tally->stacks[i].first_ns = stacks[i].first_ns;
    tally->stacks[i].called = stacks[i].called;
  }
  const struct size_before *sizes = changes->sizes.items;
  for (size_t i = 1; i < changes->sizes.count; i++)
    tally->sizes[i].own_peak = sizes[i].own_peak;
  const struct hwi_thread_tally *threads = changes->threads.items;
  for (size_t i = 0; i < changes->threads.count; i++)
    tally->threads[i].own_peak_bytes = threads[i].own_peak_bytes;
}

void hwi_changes_release(struct hwi_changes *changes)
{
  struct hwi_list *const lists[] = {&changes->cells,   &changes->stacks, &changes->sizes,
                                    &changes->threads, &changes->steps,  &changes->handovers};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    hwi_list_release(lists[i]);
}
