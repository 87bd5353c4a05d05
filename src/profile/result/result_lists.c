/* result_lists.c - the result's lists that are not sums over all cells: generations freed together, handovers,
 * resizes */
#include <stdlib.h>

#include "profile/result/result.h"
#include "trace/grow.h"

/* --- freed together --- */

static bool fill_together(struct hwi_result *result)
{
  struct hwi_tally *tally = &result->replay.tally;
  struct hwi_together *list = NULL;
  size_t count = 0, capacity = 0;
  const bool is_known = result->profile.span.kind == HWI_SPAN_RUN && !result->profile.sample_bytes;
  for (size_t s = 1; s < tally->stack_count && is_known; s++) {
    struct hwi_sweeps *sweeps = &tally->stacks[s].sweeps;
    hwi_sweeps_end(sweeps);
    if (!sweeps->blocks)
      continue;
    if (!hwi_grow((void **)&list, &capacity, count + 1, sizeof *list)) {
      free(list);
      return false;
    }
    list[count++] = (struct hwi_together){(uint32_t)s, sweeps->blocks, sweeps->generations, sweeps->largest_bytes};
  }
  result->profile.together = list;
  result->profile.together_count = (uint32_t)count;
  return true;
}

/* --- handovers --- */

static int compare_handovers(const void *left, const void *right)
{
  const struct hwi_handover *a = left, *b = right;
  if (a->owner != b->owner)
    return a->owner < b->owner ? -1 : 1;
  return a->freer < b->freer ? -1 : a->freer > b->freer;
}

/* In place: removes those without a block, which are from before the span. */
static void fill_handovers(struct hwi_result *result)
{
  struct hwi_handover_tally *tally = &result->replay.tally.handovers;
  uint32_t kept = 0;
  for (size_t i = 0; i < tally->pairs.count; i++)
    if (tally->items[i].blocks)
      tally->items[kept++] = tally->items[i];
  if (kept > 1)
    qsort(tally->items, kept, sizeof *tally->items, compare_handovers);
  result->profile.handovers = tally->items;
  result->profile.handover_count = kept;
}

/* --- resizes --- */

/* The last blocks of a stack's chains, of one size. */
struct finals {
  uint32_t item; /* an index into the list */
  uint64_t size, blocks;
};

struct growth_lists {
  struct hwi_stack_resizes *items;
  size_t count, capacity;
  uint32_t *item_of; /* by stack: its index, plus 1; 0: no step led to the stack */
  struct finals *finals;
  size_t final_count, final_capacity;
};

static void add_steps(struct hwi_resizes *to, const struct hwi_resizes *steps)
{
  to->steps += steps->steps;
  to->moved += steps->moved;
  to->copied_bytes += steps->copied_bytes;
  to->grown += steps->grown;
  to->grown_copied_bytes += steps->grown_copied_bytes;
}

static bool add_cell_steps(struct growth_lists *lists, const struct hwi_replay *replay, uint32_t cell,
                           const struct hwi_resizes *steps)
{
  uint32_t stack = hwi_tally_cell(&replay->tally, cell)->stack;
  if (!lists->item_of[stack]) {
    if (!hwi_grow((void **)&lists->items, &lists->capacity, lists->count + 1, sizeof *lists->items))
      return false;
    uint8_t entry = replay->resolver.frames.frames[replay->tally.stacks[stack].frame].entry;
    lists->items[lists->count++] = (struct hwi_stack_resizes){.stack = stack, .estimated = hwi_entry_is_new(entry)};
    lists->item_of[stack] = (uint32_t)lists->count;
  }
  add_steps(&lists->items[lists->item_of[stack] - 1].steps, steps);
  return true;
}

static bool sum_steps(struct growth_lists *lists, const struct hwi_replay *replay)
{
  const struct hwi_resize_tally *tally = &replay->tally.resizes;
  for (size_t i = 0; i < tally->indices.count; i++) {
    const struct hwi_resized_cell *item = &tally->items[i];
    if (item->counts.steps.steps && !add_cell_steps(lists, replay, item->cell, &item->counts.steps))
      return false;
  }
  return true;
}

/* Returns the number of blocks of the cell that no step ended. */
static uint64_t final_blocks(const struct hwi_tally *tally, uint32_t cell)
{
  uint32_t number = hwi_hash_table_first(&tally->resizes.indices, cell)->number;
  uint64_t ended = number ? tally->resizes.items[number - 1].counts.ended : 0;
  uint64_t all = hwi_tally_live_at_start(tally, cell) + hwi_tally_cell(tally, cell)->calls;
  return all > ended ? all - ended : 0;
}

static bool list_finals(struct growth_lists *lists, const struct hwi_tally *tally)
{
  for (uint32_t i = 1; i < tally->cell_count && lists->count; i++) {
    const struct hwi_cell *cell = hwi_tally_cell(tally, i);
    uint32_t item = lists->item_of[cell->stack];
    uint64_t blocks = item ? final_blocks(tally, i) : 0;
    if (!blocks)
      continue;
    if (!hwi_grow((void **)&lists->finals, &lists->final_capacity, lists->final_count + 1, sizeof *lists->finals))
      return false;
    lists->finals[lists->final_count++] = (struct finals){item - 1, cell->size, blocks};
    lists->items[item - 1].final_blocks += blocks;
  }
  return true;
}

static int compare_finals(const void *left, const void *right)
{
  const struct finals *a = left, *b = right;
  if (a->item != b->item)
    return a->item < b->item ? -1 : 1;
  return a->size < b->size ? -1 : a->size > b->size;
}

/* Finds the smallest size that half of a stack's last blocks do not exceed, and the largest size. */
static void measure_finals(struct growth_lists *lists)
{
  if (lists->final_count > 1)
    qsort(lists->finals, lists->final_count, sizeof *lists->finals, compare_finals);
  uint64_t before = 0; /* blocks of the stack that are not larger */
  for (size_t i = 0; i < lists->final_count; i++) {
    const struct finals *final = &lists->finals[i];
    struct hwi_stack_resizes *item = &lists->items[final->item];
    before = i > 0 && final[-1].item == final->item ? before : 0;
    if (before * 2 < item->final_blocks)
      item->final_median = final->size;
    item->final_largest = final->size;
    before += final->blocks;
  }
}

static int compare_stacks(const void *left, const void *right)
{
  const struct hwi_stack_resizes *a = left, *b = right;
  return a->stack < b->stack ? -1 : a->stack > b->stack;
}

static bool fill_resizes(struct hwi_result *result)
{
  const struct hwi_tally *tally = &result->replay.tally;
  struct growth_lists lists = {.item_of = calloc(tally->stack_count, sizeof *lists.item_of)};
  bool done = lists.item_of && sum_steps(&lists, &result->replay) && list_finals(&lists, tally);
  if (done)
    measure_finals(&lists);
  if (lists.count > 1)
    qsort(lists.items, lists.count, sizeof *lists.items, compare_stacks);
  result->profile.resizes = lists.items;
  result->profile.resize_count = (uint32_t)lists.count;
  free(lists.item_of);
  free(lists.finals);
  return done;
}

bool hwi_result_fill_lists(struct hwi_result *result)
{
  fill_handovers(result);
  return fill_together(result) && fill_resizes(result);
}
