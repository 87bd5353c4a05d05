/* epoch_sum.c - adds the changes of an epoch to the counters of a replay that has reached its start
 *
 * Sums are added. A maximum becomes the larger one of the maximum so far and the level at the epoch's start plus the
 * rise. First times stay, and last times are replaced. Only one figure depends on where the span began: whether a block
 * is temporary. That is decided by the latest block of its thread, and a span does not know a block that was born
 * before it. So an epoch lists those of the blocks that it ends that are temporary and older than the epoch, at most
 * one per thread: if the thread has not allocated within the span so far, the block is older than the span, too, and is
 * not temporary.
 */
#include "profile/epochs/epoch.h"

/* --- whether it is sound --- */

static bool cell_number_is_sound(uint32_t number, const struct hwi_epoch_row *row)
{
  return number < row->cells;
}

static bool cells_are_sound(const struct hwi_epoch *epoch, const struct hwi_epoch_row *row)
{
  const struct hwi_epoch_cell *cells = epoch->lists[HWI_EPOCH_CELLS].items;
  const struct hwi_epoch_steps *steps = epoch->lists[HWI_EPOCH_STEPS].items;
  const struct hwi_epoch_block *blocks = epoch->lists[HWI_EPOCH_BLOCKS].items;
  const struct hwi_epoch_temporary *temporaries = epoch->lists[HWI_EPOCH_TEMPORARIES].items;
  bool sound = true;
  for (size_t i = 0; i < epoch->lists[HWI_EPOCH_CELLS].count; i++)
    sound = sound && cells[i].number && cell_number_is_sound(cells[i].number, row);
  for (size_t i = 0; i < epoch->lists[HWI_EPOCH_STEPS].count; i++)
    sound = sound && steps[i].cell && cell_number_is_sound(steps[i].cell, row);
  for (size_t i = 0; i < epoch->lists[HWI_EPOCH_BLOCKS].count; i++)
    sound = sound && blocks[i].address && blocks[i].cell && cell_number_is_sound(blocks[i].cell, row) &&
            blocks[i].lifetime < HWI_LIFETIMES_ENDED;
  for (size_t i = 0; i < epoch->lists[HWI_EPOCH_TEMPORARIES].count; i++)
    sound = sound && temporaries[i].cell && cell_number_is_sound(temporaries[i].cell, row) &&
            temporaries[i].lifetime < HWI_LIFETIMES_ENDED;
  return sound;
}

static bool others_are_sound(const struct hwi_epoch *epoch, const struct hwi_epoch_row *row)
{
  const struct hwi_epoch_stack *stacks = epoch->lists[HWI_EPOCH_STACKS].items;
  const struct hwi_epoch_size *sizes = epoch->lists[HWI_EPOCH_SIZES].items;
  const struct hwi_epoch_thread *threads = epoch->lists[HWI_EPOCH_THREADS].items;
  const struct hwi_handover *handovers = epoch->lists[HWI_EPOCH_HANDOVERS].items;
  bool sound = true;
  for (size_t i = 0; i < epoch->lists[HWI_EPOCH_STACKS].count; i++)
    sound = sound && stacks[i].number && stacks[i].number < row->stacks;
  for (size_t i = 0; i < epoch->lists[HWI_EPOCH_SIZES].count; i++)
    sound = sound && sizes[i].number && sizes[i].number < row->sizes;
  for (size_t i = 0; i < epoch->lists[HWI_EPOCH_THREADS].count; i++)
    sound = sound && threads[i].number < row->threads && cell_number_is_sound(threads[i].newest_cell, row) &&
            cell_number_is_sound(threads[i].moving_cell, row);
  for (size_t i = 0; i < epoch->lists[HWI_EPOCH_HANDOVERS].count; i++)
    sound = sound && handovers[i].owner < row->threads && handovers[i].freer < row->threads;
  return sound;
}

bool hwi_epoch_is_sound(const struct hwi_epoch *epoch, const struct hwi_epoch_row *row)
{
  return cells_are_sound(epoch, row) && others_are_sound(epoch, row) &&
         epoch->timeline.width_ns == row->slice_width_ns && epoch->classes.width_ns == row->class_width_ns;
}

/* --- what depends on the levels at its start --- */

static void raise_to(uint64_t *maximum, uint64_t level)
{
  if (level > *maximum)
    *maximum = level;
}

static void add_stacks(struct hwi_tally *tally, const struct hwi_epoch *epoch)
{
  const struct hwi_list *list = &epoch->lists[HWI_EPOCH_STACKS];
  const struct hwi_epoch_stack *items = list->items;
  for (size_t i = 0; i < list->count; i++) {
    const struct hwi_epoch_stack *item = &items[i];
    struct hwi_stack_tally *stack = &tally->stacks[item->number];
    raise_to(&stack->own_peak_bytes, stack->live_bytes + item->rise);
    for (int k = 0; k < HWI_LIFETIMES_ENDED; k++)
      stack->ended[k] += item->ended[k];
    stack->failed_calls += item->failed_calls;
    stack->missed_frees += item->missed_frees;
    if (!item->called)
      continue;
    if (!stack->called)
      stack->first_ns = item->first_ns;
    stack->called = true;
    stack->last_ns = item->last_ns;
  }
}

static void add_sizes(struct hwi_tally *tally, const struct hwi_epoch *epoch)
{
  const struct hwi_list *list = &epoch->lists[HWI_EPOCH_SIZES];
  const struct hwi_epoch_size *items = list->items;
  for (size_t i = 0; i < list->count; i++) {
    struct hwi_size_tally *size = &tally->sizes[items[i].number];
    raise_to(&size->own_peak, size->live + items[i].rise);
  }
}

/* To be called before the threads' latest blocks become those at the end of the epoch. */
static void add_temporaries(struct hwi_tally *tally, struct hwi_totals *totals, const struct hwi_epoch *epoch)
{
  const struct hwi_list *list = &epoch->lists[HWI_EPOCH_TEMPORARIES];
  const struct hwi_epoch_temporary *items = list->items;
  for (size_t i = 0; i < list->count; i++) {
    struct hwi_cell *cell = hwi_tally_cell(tally, items[i].cell);
    struct hwi_stack_tally *stack = &tally->stacks[cell->stack];
    if (tally->threads[cell->context].last_address)
      continue;
    cell->temporary_calls--;
    totals->temporary_calls--;
    stack->ended[HWI_LIFETIME_TEMPORARY]--;
    stack->ended[items[i].lifetime]++;
  }
}

static void add_timelines(struct hwi_replay *replay, const struct hwi_epoch *epoch, const struct hwi_epoch_row *row)
{
  if (row->first_ns >= replay->class_timeline.next_ns)
    hwi_class_timeline_advance(&replay->class_timeline, row->first_ns, &replay->tally);
  hwi_class_timeline_append(&replay->class_timeline, &epoch->classes);
  hwi_timeline_append(&replay->timeline, &epoch->timeline, replay->level.bytes, replay->level.blocks);
}

/* --- what changes the levels --- */

static void add_cells(struct hwi_replay *replay, const struct hwi_epoch *epoch, bool counts)
{
  const struct hwi_list *list = &epoch->lists[HWI_EPOCH_CELLS];
  const struct hwi_epoch_cell *items = list->items;
  struct hwi_tally *tally = &replay->tally;
  for (size_t i = 0; i < list->count; i++) {
    const struct hwi_epoch_cell *item = &items[i];
    struct hwi_cell *cell = hwi_tally_cell(tally, item->number);
    hwi_tally_settle(tally, cell);
    if (counts) {
      cell->calls += item->calls;
      cell->temporary_calls += item->temporary_calls;
    }
    cell->live += item->live;
    tally->stacks[cell->stack].live_bytes += item->live * cell->size;
    tally->sizes[cell->size_number].live += item->live;
    tally->threads[cell->context].live_bytes += item->live * cell->size;
    replay->level.blocks += item->live;
    replay->level.bytes += item->live * cell->size;
    replay->level.usable += item->live * cell->usable;
  }
}

static void add_threads(struct hwi_tally *tally, const struct hwi_epoch *epoch, bool counts)
{
  const struct hwi_list *list = &epoch->lists[HWI_EPOCH_THREADS];
  const struct hwi_epoch_thread *items = list->items;
  for (size_t i = 0; i < list->count; i++) {
    const struct hwi_epoch_thread *item = &items[i];
    struct hwi_thread_tally *thread = &tally->threads[item->number];
    if (counts) {
      raise_to(&thread->own_peak_bytes, thread->live_bytes + item->rise);
      thread->free_calls += item->free_calls;
      thread->foreign_frees += item->foreign_frees;
      thread->failed_calls += item->failed_calls;
      thread->late_allocation_calls += item->late_allocation_calls;
      thread->late_free_calls += item->late_free_calls;
    }
    if (item->last_address)
      thread->last_address = item->last_address;
    thread->newest_cell = item->newest_cell;
    thread->moving_cell = item->moving_cell;
    thread->moving_address = item->moving_address;
  }
}

/* --- other lists --- */

static bool add_lists(struct hwi_tally *tally, const struct hwi_epoch *epoch)
{
  const struct hwi_epoch_steps *steps = epoch->lists[HWI_EPOCH_STEPS].items;
  const struct hwi_handover *handovers = epoch->lists[HWI_EPOCH_HANDOVERS].items;
  for (size_t i = 0; i < epoch->lists[HWI_EPOCH_STEPS].count; i++)
    if (!hwi_resizes_add_all(&tally->resizes, steps[i].cell, &steps[i].changes))
      return false;
  for (size_t i = 0; i < epoch->lists[HWI_EPOCH_HANDOVERS].count; i++)
    if (!hwi_handovers_add(&tally->handovers, &handovers[i]))
      return false;
  return true;
}

static void add_totals(struct hwi_totals *to, const struct hwi_totals *part)
{
  to->allocation_calls += part->allocation_calls;
  to->free_calls += part->free_calls;
  to->failed_calls += part->failed_calls;
  to->temporary_calls += part->temporary_calls;
  to->allocated_bytes += part->allocated_bytes;
  to->usable_bytes += part->usable_bytes;
  to->unmatched_frees += part->unmatched_frees;
  to->missed_frees += part->missed_frees;
  to->frees_of_silent_blocks += part->frees_of_silent_blocks;
}

bool hwi_epoch_add(struct hwi_replay *replay, struct hwi_replay_image *image, const struct hwi_epoch *epoch,
                   const struct hwi_epoch_row *row, bool counts)
{
  struct hwi_tally *tally = &replay->tally;
  if (counts) {
    add_timelines(replay, epoch, row);
    add_stacks(tally, epoch);
    add_sizes(tally, epoch);
    add_temporaries(tally, &image->totals, epoch);
    add_totals(&image->totals, &epoch->totals);
    if (!add_lists(tally, epoch))
      return false;
  }
  add_threads(tally, epoch, counts); /* before the cells: the levels must be those at the epoch's start */
  add_cells(replay, epoch, counts);
  tally->cell_count = row->cells;
  tally->stack_count = row->stacks;
  tally->size_count = row->sizes;
  tally->thread_count = row->threads;
  image->live_bytes = replay->level.bytes;
  image->live_usable = replay->level.usable;
  image->live_blocks = replay->level.blocks;
  replay->now_ns = row->last_ns;
  return true;
}
