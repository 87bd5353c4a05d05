/* growth.c - which stacks increased a rule's figure compared with the baseline */
#include "compare/growth.h"

#include <stdlib.h>

#include "trace/grow.h"

/* The stacks of both runs that count as the same. */
struct row {
  uint64_t parts[2];
  uint32_t largest; /* of the second run's stacks; 0: it has none */
};

struct rows {
  struct row *items; /* by ID of the path */
  size_t count, room;
  struct hwi_store paths;
};

/* Returns NULL if there is no memory. */
static struct row *row_of(struct rows *rows, struct hwi_stack_paths *paths, int side, uint32_t stack)
{
  if (!hwi_stack_path_make(paths, side, stack, false))
    return NULL;
  uint32_t number = hwi_store_intern(&rows->paths, paths->numbers, paths->count * sizeof *paths->numbers);
  if (number == 0 || !hwi_grow((void **)&rows->items, &rows->room, (size_t)number + 1, sizeof *rows->items))
    return NULL;
  for (; rows->count <= number; rows->count++)
    rows->items[rows->count] = (struct row){0};
  return &rows->items[number];
}

static bool add_side(struct rows *rows, struct hwi_stack_paths *paths, int side, const uint64_t *parts)
{
  uint32_t count = paths->frames[side]->profile->stack_count;
  for (uint32_t stack = 1; stack < count; stack++) {
    if (parts[stack] == 0)
      continue;
    struct row *row = row_of(rows, paths, side, stack);
    if (!row)
      return false;
    row->parts[side] += parts[stack];
    if (side == 1 && (row->largest == 0 || parts[stack] > parts[row->largest]))
      row->largest = stack;
  }
  return true;
}

static bool find(struct rows *rows, const struct hwi_measure *const measures[2], struct hwi_stack_paths *paths,
                 uint64_t *growth, bool *any)
{
  for (int side = 0; side < 2; side++) {
    if (!add_side(rows, paths, side, measures[side]->by_stack))
      return false;
  }
  for (size_t i = 1; i < rows->count; i++) {
    const struct row *row = &rows->items[i];
    if (row->parts[1] > row->parts[0])
      growth[row->largest] = row->parts[1] - row->parts[0];
    *any |= row->parts[1] > row->parts[0];
  }
  return true;
}

int hwi_growth_find(const struct hwi_measure *const measures[2], struct hwi_stack_paths *paths, uint64_t **growth)
{
  struct rows rows = {0};
  uint32_t count = paths->frames[1]->profile->stack_count;
  *growth = calloc((size_t)count + 1, sizeof **growth);
  bool any = false, done = *growth && find(&rows, measures, paths, *growth, &any);
  free(rows.items);
  hwi_store_release(&rows.paths);
  if (!any) {
    free(*growth);
    *growth = NULL;
  }
  return done ? HW_OK : hwi_error_set(paths->error, HW_ERR_MEMORY, "no memory for comparing %u stacks", count);
}
