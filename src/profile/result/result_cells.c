/* result_cells.c - makes the profile's cells and sizes from those of a replay
 *
 * Cells are sorted by their stacks with a counting sort, sizes by comparison. The result also stores their numbers in
 * the tally, for a summary whose epochs use these numbers.
 */
#include <stdlib.h>

#include "profile/counters/large.h"
#include "profile/result/result.h"

/* --- sizes --- */

static int compare_sizes(const void *left, const void *right, void *context)
{
  const struct hwi_size_tally *sizes = context;
  uint64_t a = sizes[*(const uint32_t *)left].size, b = sizes[*(const uint32_t *)right].size;
  return a < b ? -1 : a > b;
}

static bool fill_sizes(struct hwi_result *result)
{
  const struct hwi_tally *tally = &result->replay.tally;
  uint32_t count = (uint32_t)tally->size_count - 1;
  struct hwi_size *sizes = calloc(tally->size_count, sizeof *sizes);
  uint32_t *numbers = calloc(tally->size_count, sizeof *numbers);
  result->profile.sizes = sizes;
  result->size_numbers = numbers;
  if (!sizes || !numbers)
    return false;
  for (uint32_t i = 0; i < count; i++)
    numbers[i] = i + 1;
  qsort_r(numbers, count, sizeof *numbers, compare_sizes, tally->sizes);
  for (uint32_t i = 0; i < count; i++) {
    sizes[i].size = tally->sizes[numbers[i]].size;
    sizes[i].own_peak_blocks = tally->sizes[numbers[i]].own_peak;
  }
  result->profile.size_count = count;
  return true;
}

/* --- cells --- */

/* Returns the cells' numbers, sorted by stack. */
static bool order_by_stack(struct hwi_result *result)
{
  const struct hwi_tally *tally = &result->replay.tally;
  uint32_t *numbers = calloc(tally->cell_count, sizeof *numbers);
  uint32_t *next = calloc(tally->stack_count + 1, sizeof *next); /* index for the next cell of the stack */
  result->cell_numbers = numbers;
  for (uint32_t i = 1; i < tally->cell_count && numbers && next; i++)
    next[hwi_tally_cell(tally, i)->stack + 1]++;
  for (size_t s = 1; s <= tally->stack_count && next; s++)
    next[s] += next[s - 1];
  for (uint32_t i = 1; i < tally->cell_count && numbers && next; i++)
    numbers[next[hwi_tally_cell(tally, i)->stack]++] = i;
  bool done = numbers && next;
  free(next);
  return done;
}

/* Returns, for each size number, its index among the sizes. Returns NULL if there is no memory. */
static uint32_t *index_sizes(const struct hwi_result *result)
{
  uint32_t *indices = calloc(result->replay.tally.size_count, sizeof *indices);
  for (uint32_t i = 0; indices && i < result->profile.size_count; i++)
    indices[result->size_numbers[i]] = i;
  return indices;
}

static bool fill_cells(struct hwi_result *result)
{
  const struct hwi_tally *tally = &result->replay.tally;
  uint32_t *sizes = index_sizes(result);
  struct hwi_profile_cell *cells = hwi_large_calloc(tally->cell_count, sizeof *cells);
  bool done = sizes && cells;
  for (uint32_t i = 0; done && i + 1 < tally->cell_count; i++) {
    const uint32_t number = result->cell_numbers[i];
    const struct hwi_cell *cell = hwi_tally_cell(tally, number);
    cells[i] = (struct hwi_profile_cell){.thread = cell->thread,
                                         .stack = cell->stack,
                                         .size = sizes[cell->size_number],
                                         .usable = cell->usable,
                                         .calls = cell->calls,
                                         .temporary_calls = cell->temporary_calls,
                                         .peak_blocks = cell->peak_live,
                                         .live_blocks = hwi_tally_live_at_end(tally, number)};
  }
  result->profile.cells = cells;
  result->profile.cell_count = done ? tally->cell_count - 1 : 0;
  free(sizes);
  return done;
}

bool hwi_result_fill_cells(struct hwi_result *result)
{
  return fill_sizes(result) && order_by_stack(result) && fill_cells(result);
}
