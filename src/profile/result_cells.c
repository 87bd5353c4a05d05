/* result_cells.c - the cells of a replay, as the profile has them, and their sums by size and by pairs of stack, size and thread
 *
 * Cells are put in order of their stacks by counting, once; pairs are then formed within one stack at a time, so that sorting
 * stays small.
 */
#include <stdlib.h>

#include "profile/result.h"

/* The cells, stack by stack: those of stack s are numbers[start[s]] to numbers[start[s + 1] - 1]. */
struct by_stack {
  uint32_t *numbers;
  uint32_t *start;
};

static bool order_by_stack(const struct hwi_tally *tally, struct by_stack *order)
{
  size_t stacks = tally->stack_count;
  order->numbers = calloc(tally->cell_count, sizeof *order->numbers);
  order->start = calloc(stacks + 2, sizeof *order->start);
  if (!order->numbers || !order->start)
    return false;
  uint32_t *next = order->start + 1; /* while filling: where the next cell of stack s goes is next[s] */
  for (uint32_t i = 1; i < tally->cell_count; i++)
    next[hwi_tally_cell(tally, i)->stack + 1]++;
  for (size_t s = 1; s <= stacks; s++)
    next[s] += next[s - 1];
  for (uint32_t i = 1; i < tally->cell_count; i++)
    order->numbers[next[hwi_tally_cell(tally, i)->stack]++] = i;
  return true;
}

/* --- pairs --- */

static int compare_sizes(const void *left, const void *right)
{
  const struct hwi_stack_size *a = left, *b = right;
  return a->size < b->size ? -1 : a->size > b->size;
}

static int compare_weights(const void *left, const void *right)
{
  const struct hwi_stack_size *a = left, *b = right;
  if (a->peak_blocks != b->peak_blocks)
    return a->peak_blocks > b->peak_blocks ? -1 : 1;
  if (a->calls != b->calls)
    return a->calls > b->calls ? -1 : 1;
  return compare_sizes(left, right);
}

static int compare_threads(const void *left, const void *right)
{
  const struct hwi_thread_stack *a = left, *b = right;
  return a->thread < b->thread ? -1 : a->thread > b->thread;
}

/* Joins neighbours of one size; returns how many are left. */
static uint32_t join_sizes(struct hwi_stack_size *list, uint32_t count)
{
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; i++) {
    struct hwi_stack_size *last = &list[kept - (kept > 0)];
    if (!kept || last->size != list[i].size) {
      list[kept++] = list[i];
      continue;
    }
    last->calls += list[i].calls;
    last->peak_blocks += list[i].peak_blocks;
    last->live_blocks += list[i].live_blocks;
  }
  return kept;
}

static uint32_t join_threads(struct hwi_thread_stack *list, uint32_t count)
{
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; i++) {
    struct hwi_thread_stack *last = &list[kept - (kept > 0)];
    if (!kept || last->thread != list[i].thread) {
      list[kept++] = list[i];
      continue;
    }
    last->calls += list[i].calls;
    last->bytes += list[i].bytes;
    last->temporary_calls += list[i].temporary_calls;
    last->live_blocks += list[i].live_blocks;
    last->live_bytes += list[i].live_bytes;
    last->peak_blocks += list[i].peak_blocks;
    last->peak_bytes += list[i].peak_bytes;
  }
  return kept;
}

/* With room for all pairs. */
struct pairs {
  struct hwi_stack_size *sizes;
  struct hwi_thread_stack *threads;
};

static void fill_pairs_of_stack(struct hwi_result *result, const struct pairs *pairs, const struct by_stack *order,
                                uint32_t stack)
{
  const struct hwi_tally *tally = &result->replay.tally;
  struct hwi_profile *profile = &result->profile;
  struct hwi_stack_size *sizes = pairs->sizes + profile->stack_size_count;
  struct hwi_thread_stack *threads = pairs->threads + profile->thread_stack_count;
  uint32_t count = 0;
  for (uint32_t i = order->start[stack]; i < order->start[stack + 1]; i++, count++) {
    const struct hwi_cell *cell = hwi_tally_cell(tally, order->numbers[i]);
    uint64_t at_end = hwi_tally_live_at_end(tally, order->numbers[i]);
    sizes[count] = (struct hwi_stack_size){stack, cell->size, cell->calls, cell->peak_live, at_end};
    threads[count] = (struct hwi_thread_stack){
        .thread = cell->thread,
        .stack = stack,
        .calls = cell->calls,
        .bytes = cell->calls * cell->size,
        .temporary_calls = cell->temporary_calls,
        .live_bytes = at_end * cell->size,
        .live_blocks = at_end,
        .peak_bytes = cell->peak_live * cell->size,
        .peak_blocks = cell->peak_live,
    };
  }
  if (count > 1) {
    qsort(sizes, count, sizeof *sizes, compare_sizes);
    qsort(threads, count, sizeof *threads, compare_threads);
  }
  uint32_t size_count = join_sizes(sizes, count);
  if (size_count > 1)
    qsort(sizes, size_count, sizeof *sizes, compare_weights);
  profile->stack_size_count += size_count;
  profile->thread_stack_count += join_threads(threads, count);
}

static bool fill_pairs(struct hwi_result *result, const struct by_stack *order)
{
  const struct hwi_tally *tally = &result->replay.tally;
  struct pairs pairs = {calloc(tally->cell_count, sizeof *pairs.sizes),
                        calloc(tally->cell_count, sizeof *pairs.threads)};
  bool done = pairs.sizes && pairs.threads;
  for (uint32_t s = 1; done && s < tally->stack_count; s++)
    fill_pairs_of_stack(result, &pairs, order, s);
  result->profile.stack_sizes = pairs.sizes;
  result->profile.thread_stacks = pairs.threads;
  return done;
}

/* --- sizes --- */

static int compare_size_rows(const void *left, const void *right)
{
  const struct hwi_size *a = left, *b = right;
  return a->size < b->size ? -1 : a->size > b->size;
}

static bool fill_sizes(struct hwi_result *result)
{
  const struct hwi_tally *tally = &result->replay.tally;
  struct hwi_size *sizes = calloc(tally->size_count, sizeof *sizes);
  result->profile.sizes = sizes;
  if (!sizes)
    return false;
  for (size_t i = 1; i < tally->size_count; i++) {
    sizes[i - 1].size = tally->sizes[i].size;
    sizes[i - 1].own_peak_blocks = tally->sizes[i].own_peak;
  }
  for (uint32_t i = 1; i < tally->cell_count; i++) {
    const struct hwi_cell *cell = hwi_tally_cell(tally, i);
    struct hwi_size *size = &sizes[cell->size_number - 1];
    size->calls += cell->calls;
    size->live_blocks += hwi_tally_live_at_end(tally, i);
    size->peak_blocks += cell->peak_live;
    size->temporary_calls += cell->temporary_calls;
    size->peak_usable += cell->peak_live * cell->usable;
  }
  result->profile.size_count = (uint32_t)tally->size_count - 1;
  qsort(sizes, result->profile.size_count, sizeof *sizes, compare_size_rows);
  return true;
}

/* --- cells --- */

/* By size number: its index among the sizes. NULL: no memory. */
static uint32_t *index_sizes(const struct hwi_result *result)
{
  const struct hwi_tally *tally = &result->replay.tally;
  const struct hwi_profile *profile = &result->profile;
  uint32_t *indices = calloc(tally->size_count + 1, sizeof *indices);
  for (size_t i = 1; indices && i < tally->size_count; i++) {
    const struct hwi_size wanted = {.size = tally->sizes[i].size};
    const struct hwi_size *found =
        bsearch(&wanted, profile->sizes, profile->size_count, sizeof *profile->sizes, compare_size_rows);
    indices[i] = (uint32_t)(found - profile->sizes);
  }
  return indices;
}

/* After the sizes, to which the cells refer. */
static bool fill_cells(struct hwi_result *result, const struct by_stack *order)
{
  const struct hwi_tally *tally = &result->replay.tally;
  uint32_t *sizes = index_sizes(result);
  struct hwi_profile_cell *cells = calloc(tally->cell_count, sizeof *cells);
  bool done = sizes && cells;
  for (uint32_t i = 0; done && i + 1 < tally->cell_count; i++) {
    const struct hwi_cell *cell = hwi_tally_cell(tally, order->numbers[i]);
    cells[i] = (struct hwi_profile_cell){.thread = cell->thread,
                                         .stack = cell->stack,
                                         .size = sizes[cell->size_number],
                                         .usable = cell->usable,
                                         .calls = cell->calls,
                                         .temporary_calls = cell->temporary_calls,
                                         .peak_blocks = cell->peak_live,
                                         .live_blocks = hwi_tally_live_at_end(tally, order->numbers[i])};
  }
  result->profile.cells = cells;
  result->profile.cell_count = done ? tally->cell_count - 1 : 0;
  free(sizes);
  return done;
}

bool hwi_result_fill_cells(struct hwi_result *result)
{
  struct by_stack order = {0};
  bool done = order_by_stack(&result->replay.tally, &order) && fill_pairs(result, &order) && fill_sizes(result) &&
              fill_cells(result, &order);
  free(order.numbers);
  free(order.start);
  return done;
}
