/* stack_sizes.c - the block sizes of a stack, or of several, from their cells
 *
 * Few stacks are shown, so the sizes are computed only for these.
 */
#include "report/content/stack_sizes.h"

#include <stdlib.h>

static uint64_t shown_of(const struct hwi_stack_size *size, enum hwi_cost cost)
{
  if (cost == HWI_COST_PEAK)
    return size->peak_blocks;
  return cost == HWI_COST_LIVE ? size->live_blocks : size->calls;
}

static int compare_sizes(const void *left, const void *right)
{
  const struct hwi_stack_size *a = left, *b = right;
  return a->size < b->size ? -1 : a->size > b->size;
}

static int compare_shown(const void *left, const void *right)
{
  const struct hwi_stack_size *a = left, *b = right;
  if (a->shown != b->shown)
    return a->shown > b->shown ? -1 : 1;
  if (a->peak_blocks != b->peak_blocks)
    return a->peak_blocks > b->peak_blocks ? -1 : 1;
  if (a->calls != b->calls)
    return a->calls > b->calls ? -1 : 1;
  return compare_sizes(left, right);
}

/* Merges adjacent items of one size. Returns how many are left. */
static uint32_t join(struct hwi_stack_size *list, uint32_t count)
{
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (kept == 0 || list[kept - 1].size != list[i].size) {
      list[kept++] = list[i];
      continue;
    }
    list[kept - 1].calls += list[i].calls;
    list[kept - 1].peak_blocks += list[i].peak_blocks;
    list[kept - 1].live_blocks += list[i].live_blocks;
  }
  return kept;
}

/* Adds the cells of one stack; if `sizes->items` is NULL, only counts them. */
static void add_cells(struct hwi_stack_sizes *sizes, const struct hwi_profile *profile, uint32_t stack)
{
  for (uint32_t i = hwi_profile_first_cell(profile, stack); i < profile->cell_count && profile->cells[i].stack == stack;
       i++) {
    const struct hwi_profile_cell *cell = &profile->cells[i];
    if (sizes->items)
      sizes->items[sizes->count] = (struct hwi_stack_size){.size = profile->sizes[cell->size].size,
                                                           .calls = cell->calls,
                                                           .peak_blocks = cell->peak_blocks,
                                                           .live_blocks = cell->live_blocks};
    sizes->count++;
  }
}

bool hwi_stack_sizes_init(struct hwi_stack_sizes *sizes, const struct hwi_profile *profile,
                          const struct hwi_duplicates_group *group, enum hwi_cost cost)
{
  *sizes = (struct hwi_stack_sizes){0};
  for (uint32_t i = 0; i < group->count; i++)
    add_cells(sizes, profile, group->stacks[i]);
  sizes->items = calloc((size_t)sizes->count + 1, sizeof *sizes->items);
  sizes->count = 0;
  if (!sizes->items)
    return false;
  for (uint32_t i = 0; i < group->count; i++)
    add_cells(sizes, profile, group->stacks[i]);
  qsort(sizes->items, sizes->count, sizeof *sizes->items, compare_sizes);
  uint32_t joined = join(sizes->items, sizes->count);
  sizes->count = 0;
  for (uint32_t i = 0; i < joined; i++) {
    sizes->items[i].shown = shown_of(&sizes->items[i], cost);
    if (sizes->items[i].shown > 0)
      sizes->items[sizes->count++] = sizes->items[i];
  }
  qsort(sizes->items, sizes->count, sizeof *sizes->items, compare_shown);
  return true;
}

void hwi_stack_sizes_release(struct hwi_stack_sizes *sizes)
{
  free(sizes->items);
  *sizes = (struct hwi_stack_sizes){0};
}
