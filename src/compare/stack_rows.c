/* stack_rows.c - which stacks of two runs are the same: those of equal paths (stack_path.h) are one row */
#include "compare/rows.h"
#include "compare/stack_path.h"

struct matcher {
  struct hwi_comparison *comparison;
  struct hwi_stack_paths paths;
};

/* --- equal paths --- */

static bool add_stack(struct matcher *matcher, struct hwi_row_table *table, struct hwi_store *paths, int side,
                      uint32_t stack)
{
  if (!hwi_stack_path_make(&matcher->paths, side, stack, false))
    return false;
  uint32_t number =
      hwi_store_intern(paths, matcher->paths.numbers, matcher->paths.count * sizeof *matcher->paths.numbers);
  struct hwi_row *row = number != 0 ? hwi_row_table_find(table, number) : NULL;
  if (row)
    hwi_row_add(row, side, stack, &matcher->comparison->sides[side].selection.amounts[stack]);
  return row;
}

static bool add_stacks(struct matcher *matcher)
{
  struct hwi_comparison *comparison = matcher->comparison;
  struct hwi_row_table table = {.comparison = comparison};
  struct hwi_store paths = {0};
  bool added = true;
  for (int side = 0; side < HWI_SIDES; side++) {
    const struct hwi_selection *selection = &comparison->sides[side].selection;
    for (uint32_t i = 0; i < selection->stack_count && added; i++)
      added = add_stack(matcher, &table, &paths, side, selection->stacks[i]);
  }
  hwi_store_release(&paths);
  hwi_row_table_release(&table);
  return added;
}

/* --- similar ones --- */

static bool make_loose_path(void *context, int side, const struct hwi_row *row, const uint32_t **numbers, size_t *count)
{
  struct matcher *matcher = context;
  if (!hwi_stack_path_make(&matcher->paths, side, row->items[side], true))
    return false;
  const struct hwi_stack_paths *path = &matcher->paths;
  bool known = path->count > 0 && !path->vague[path->count - 1]; /* else the allocating function is unknown */
  *numbers = path->numbers;
  *count = known ? path->count : 0;
  return true;
}

int hwi_stack_rows(struct hwi_comparison *comparison, struct hwi_error *error)
{
  struct matcher matcher = {.comparison = comparison, .paths = {.identities = &comparison->identities, .error = error}};
  for (int side = 0; side < HWI_SIDES; side++)
    matcher.paths.frames[side] = &comparison->sides[side].frames;
  bool done = add_stacks(&matcher) && hwi_join_similar(comparison, make_loose_path, &matcher);
  hwi_stack_paths_release(&matcher.paths);
  if (done)
    return HW_OK;
  return hwi_error_set(error, HW_ERR_MEMORY, "no memory for comparing %zu stacks", comparison->row_count);
}
