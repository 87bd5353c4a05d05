/* tally.c - the counters of a replay */
#include "profile/counters/tally.h"

#include <stdlib.h>

#include "base/hash.h"
#include "trace/grow.h"
#include "trace/table.h"

enum { CACHE_LINE_BYTES = 64 };

_Static_assert(sizeof(struct hwi_cell) == CACHE_LINE_BYTES, "a cell");

bool hwi_tally_init(struct hwi_tally *tally)
{
  *tally = (struct hwi_tally){.cell_count = 1, .stack_count = 1, .size_count = 1, .generation = 1};
  return hwi_table_grow((void **)&tally->cells, &tally->cell_capacity, 1, sizeof *tally->cells) &&
         hwi_table_grow((void **)&tally->stacks, &tally->stack_capacity, 1, sizeof *tally->stacks) &&
         hwi_grow((void **)&tally->sizes, &tally->size_capacity, 1, sizeof *tally->sizes);
}

void hwi_tally_drop_cells(struct hwi_tally *tally)
{
  hwi_table_release(tally->cells, tally->cell_capacity * sizeof *tally->cells);
  tally->cells = NULL;
  tally->cell_capacity = 0;
}

void hwi_tally_drop_stacks(struct hwi_tally *tally)
{
  hwi_table_release(tally->stacks, tally->stack_capacity * sizeof *tally->stacks);
  tally->stacks = NULL;
  tally->stack_capacity = 0;
}

void hwi_tally_release(struct hwi_tally *tally)
{
  hwi_tally_drop_cells(tally);
  free(tally->ended);
  free(tally->before);
  hwi_hash_table_release(&tally->cell_numbers);
  hwi_tally_drop_stacks(tally);
  free(tally->sizes);
  hwi_hash_table_release(&tally->size_numbers);
  free(tally->threads);
  hwi_scopes_destroy(tally->scopes);
  hwi_annotations_destroy(tally->annotations);
  hwi_heap_tally_destroy(tally->heaps);
  hwi_resizes_release(&tally->resizes);
  hwi_handovers_release(&tally->handovers);
  hwi_touched_release(&tally->touched_cells);
  hwi_touched_release(&tally->touched_stacks);
  *tally = (struct hwi_tally){0};
}

void hwi_tally_freeze(struct hwi_tally *tally)
{
  hwi_hash_table_release(&tally->cell_numbers);
  hwi_hash_table_release(&tally->size_numbers);
}

static uint32_t cell_hash(uint32_t context, uint32_t stack, uint64_t size, uint64_t usable)
{
  return hwi_hash_number(((uint64_t)stack << 32 | context) + size * UINT64_C(0xBF58476D1CE4E5B9) +
                         usable * UINT64_C(0x94D049BB133111EB));
}

/* --- sizes --- */

static uint32_t find_size(struct hwi_tally *tally, uint64_t size)
{
  const struct hwi_hash_table *numbers = &tally->size_numbers;
  uint32_t tag = hwi_hash_number(size);
  for (const struct hwi_hash_slot *at = hwi_hash_table_first(numbers, tag); at->number;
       at = hwi_hash_table_next(numbers, at))
    if (tally->sizes[at->number].size == size)
      return at->number;
  if (tally->size_count >= UINT32_MAX ||
      !hwi_grow((void **)&tally->sizes, &tally->size_capacity, tally->size_count + 1, sizeof *tally->sizes))
    return 0;
  uint32_t number = (uint32_t)tally->size_count++;
  tally->sizes[number].size = size;
  return hwi_hash_table_add(&tally->size_numbers, tag, number) ? number : 0;
}

/* --- cells --- */

bool hwi_tally_make_cells(struct hwi_tally *tally, uint32_t count)
{
  if (!hwi_table_grow((void **)&tally->cells, &tally->cell_capacity, count, sizeof *tally->cells))
    return false;
  tally->cell_count = count;
  return true;
}

bool hwi_tally_make_stacks(struct hwi_tally *tally, uint32_t count)
{
  if (!hwi_table_grow((void **)&tally->stacks, &tally->stack_capacity, count, sizeof *tally->stacks))
    return false;
  tally->stack_count = count;
  return true;
}

static uint32_t add_cell(struct hwi_tally *tally, struct hwi_cell cell)
{
  uint32_t size_number = find_size(tally, cell.size);
  uint32_t number = tally->cell_count;
  if (!size_number || number == UINT32_MAX)
    return 0;
  if (!hwi_table_grow((void **)&tally->cells, &tally->cell_capacity, (size_t)number + 1, sizeof *tally->cells))
    return 0;
  if (tally->touched_cells.words && !hwi_touched_cover(&tally->touched_cells, (size_t)number + 1))
    return 0;
  tally->cell_count++;
  cell.generation = tally->generation;
  cell.size_number = size_number;
  *hwi_tally_cell(tally, number) = cell;
  return number;
}

/* In a complete tally: makes the cell one of those that count. */
static __attribute__((noinline)) uint32_t see_cell(struct hwi_tally *tally, uint32_t number)
{
  if (number >= tally->cell_count)
    tally->cell_count = number + 1;
  const uint32_t size_number = hwi_tally_cell(tally, number)->size_number;
  if (size_number >= tally->size_count)
    tally->size_count = (size_t)size_number + 1;
  return number;
}

/* Makes a cell. Returns its number, or 0 if there is no memory or the tally is complete. */
static __attribute__((noinline)) uint32_t make_cell(struct hwi_tally *tally, uint32_t context, uint32_t stack,
                                                    uint64_t size, uint64_t usable)
{
  if (tally->complete)
    return 0;
  uint32_t number =
      add_cell(tally, (struct hwi_cell){.size = size, .usable = usable, .context = context, .stack = stack});
  if (!number || !hwi_hash_table_add(&tally->cell_numbers, cell_hash(context, stack, size, usable), number))
    return 0;
  return tally->stacks[stack].last_cell = number;
}

/* This is on the hot path, so the rare case of a new cell is in another function. */
uint32_t hwi_tally_look_for_cell(struct hwi_tally *tally, uint32_t context, uint32_t stack, uint64_t size,
                                 uint64_t usable)
{
  const struct hwi_hash_table *numbers = &tally->cell_numbers;
  const uint32_t tag = cell_hash(context, stack, size, usable);
  for (const struct hwi_hash_slot *at = hwi_hash_table_first(numbers, tag); at->number;
       at = hwi_hash_table_next(numbers, at)) {
    const struct hwi_cell *cell = hwi_tally_cell(tally, at->number);
    if (cell->size != size || cell->context != context || cell->stack != stack || cell->usable != usable)
      continue;
    tally->stacks[stack].last_cell = at->number;
    return tally->complete ? see_cell(tally, at->number) : at->number;
  }
  return make_cell(tally, context, stack, size, usable);
}

bool hwi_tally_know_cell(struct hwi_tally *tally, uint32_t number)
{
  const struct hwi_cell *cell = hwi_tally_cell(tally, number);
  return hwi_hash_table_add(&tally->cell_numbers, cell_hash(cell->context, cell->stack, cell->size, cell->usable),
                            number);
}

bool hwi_tally_add_stack(struct hwi_tally *tally, uint32_t number, const struct hwi_new_stack *stack)
{
  const size_t count = (size_t)number + 1;
  if (!tally->complete) {
    if (!hwi_table_grow((void **)&tally->stacks, &tally->stack_capacity, count, sizeof *tally->stacks))
      return false;
    if (tally->touched_stacks.words && !hwi_touched_cover(&tally->touched_stacks, count))
      return false;
    tally->stacks[number].frame = stack->number;
    tally->stacks[number].innermost = stack->frame;
  }
  tally->stack_count = count;
  return true;
}

bool hwi_tally_add_thread(struct hwi_tally *tally, uint32_t number, const struct hwi_new_thread *thread)
{
  const size_t count = (size_t)number + 1;
  if (!tally->complete) {
    if (!hwi_grow((void **)&tally->threads, &tally->thread_capacity, count, sizeof *tally->threads))
      return false;
    tally->threads[number] = (struct hwi_thread_tally){.image = thread->image, .number = thread->number};
    if (tally->scopes && !hwi_scopes_know_threads(tally->scopes, count))
      return false;
  }
  tally->thread_count = count;
  return true;
}

/* --- the peak --- */

void hwi_tally_new_peak(struct hwi_tally *tally)
{
  /* Start again at 0: every cell is settled first, so that generation 0 means an earlier peak. */
  if (tally->generation == UINT32_MAX) {
    hwi_tally_settle_all(tally);
    for (uint32_t number = 1; number < tally->cell_count; number++)
      hwi_tally_cell(tally, number)->generation = 0;
    tally->generation = 0;
  }
  tally->generation++;
}

void hwi_tally_settle_all(struct hwi_tally *tally)
{
  for (uint32_t number = 1; number < tally->cell_count; number++)
    hwi_tally_settle(tally, hwi_tally_cell(tally, number));
}

/* --- restarting --- */

static void restart_cells(struct hwi_tally *tally)
{
  for (uint32_t number = 1; number < tally->cell_count; number++) {
    struct hwi_cell *cell = hwi_tally_cell(tally, number);
    tally->before[number] = hwi_tally_live_at_end(tally, number);
    cell->calls = cell->temporary_calls = 0;
  }
}

bool hwi_tally_restart(struct hwi_tally *tally)
{
  if (!hwi_grow((void **)&tally->before, &tally->before_capacity, tally->cell_count, sizeof *tally->before))
    return false;
  restart_cells(tally);
  for (size_t i = 1; i < tally->stack_count; i++) {
    struct hwi_stack_tally *stack = &tally->stacks[i];
    *stack = (struct hwi_stack_tally){.live_bytes = stack->live_bytes,
                                      .own_peak_bytes = stack->live_bytes,
                                      .frame = stack->frame,
                                      .innermost = stack->innermost,
                                      .last_cell = stack->last_cell};
  }
  for (size_t i = 1; i < tally->size_count; i++)
    tally->sizes[i].own_peak = tally->sizes[i].live;
  for (size_t i = 0; i < tally->thread_count; i++) {
    struct hwi_thread_tally *thread = &tally->threads[i];
    *thread = (struct hwi_thread_tally){.live_bytes = thread->live_bytes,
                                        .own_peak_bytes = thread->live_bytes,
                                        .first_ns = thread->first_ns,
                                        .image = thread->image,
                                        .number = thread->number,
                                        .newest_cell = thread->newest_cell,
                                        .moving_cell = thread->moving_cell,
                                        .moving_address = thread->moving_address};
  }
  if (tally->scopes)
    hwi_scopes_restart(tally->scopes);
  if (tally->annotations)
    hwi_annotations_restart(tally->annotations);
  hwi_resizes_restart(&tally->resizes);
  hwi_handovers_restart(&tally->handovers);
  hwi_tally_new_peak(tally);
  return true;
}
