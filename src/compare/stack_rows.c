/* stack_rows.c - which stacks of two runs are the same
 *
 * A stack becomes a path of numbers (identity.h), without the frames that say nothing (hwi_named_frames_trim), and with loops
 * taken out: going from the outermost frame inwards, a frame that occurred already takes the path back to where it did. So a
 * recursion is the same however deep it went, and however many functions it goes round. Equal paths are one row.
 */
#include <stdlib.h>

#include "compare/rows.h"
#include "trace/grow.h"

/* The path of the stack loaded last. */
struct path {
  uint32_t *numbers;
  bool *vague;
  size_t count, numbers_room, vague_room;
};

struct matcher {
  struct hwi_comparison *comparison;
  struct hwi_error *error;
  struct path path;
};

/* A number that stands for many frames says nothing about a loop, unless it repeats at once. */
static void append(struct path *path, uint32_t number, bool vague)
{
  size_t at = path->count;
  if (vague && at > 0 && path->numbers[at - 1] == number)
    return;
  for (size_t i = at; i-- > 0 && !vague;) {
    if (path->numbers[i] == number) {
      path->count = i + 1;
      return;
    }
  }
  path->numbers[at] = number;
  path->vague[at] = vague;
  path->count = at + 1;
}

/* False: no memory. */
static bool make_path(struct matcher *matcher, int side, uint32_t stack, bool loose)
{
  struct hwi_named_frames *frames = &matcher->comparison->sides[side].frames;
  struct path *path = &matcher->path;
  if (hwi_named_frames_load(frames, stack, matcher->error) < 0)
    return false;
  uint32_t first, last;
  hwi_named_frames_trim(frames, &first, &last);
  path->count = 0;
  if (!hwi_grow((void **)&path->numbers, &path->numbers_room, (size_t)frames->count + 1, sizeof *path->numbers) ||
      !hwi_grow((void **)&path->vague, &path->vague_room, (size_t)frames->count + 1, sizeof *path->vague))
    return false;
  for (uint32_t i = last; i-- > first;) {
    struct hwi_identity identity;
    if (!hwi_identities_find(&matcher->comparison->identities, side, &frames->items[i], &identity))
      return false;
    append(path, loose ? identity.loose : identity.strict, identity.vague);
  }
  return true;
}

/* --- equal paths --- */

static bool add_stack(struct matcher *matcher, struct hwi_row_table *table, struct hwi_intern *paths, int side,
                      uint32_t stack)
{
  if (!make_path(matcher, side, stack, false))
    return false;
  uint32_t number = hwi_intern(paths, matcher->path.numbers, matcher->path.count * sizeof *matcher->path.numbers);
  struct hwi_row *row = number != 0 ? hwi_row_table_find(table, number) : NULL;
  if (row != NULL)
    hwi_row_add(row, side, stack, &matcher->comparison->sides[side].selection.amounts[stack]);
  return row != NULL;
}

static bool add_stacks(struct matcher *matcher)
{
  struct hwi_comparison *comparison = matcher->comparison;
  struct hwi_row_table table = {.comparison = comparison};
  struct hwi_intern paths = {0};
  bool added = true;
  for (int side = 0; side < HWI_SIDES; side++) {
    const struct hwi_selection *selection = &comparison->sides[side].selection;
    for (uint32_t i = 0; i < selection->stack_count && added; i++)
      added = add_stack(matcher, &table, &paths, side, selection->stacks[i]);
  }
  hwi_intern_release(&paths);
  hwi_row_table_release(&table);
  return added;
}

/* --- similar ones --- */

static bool make_loose_path(void *context, int side, const struct hwi_row *row, const uint32_t **numbers, size_t *count)
{
  struct matcher *matcher = context;
  if (!make_path(matcher, side, row->items[side], true))
    return false;
  const struct path *path = &matcher->path;
  bool known = path->count > 0 && !path->vague[path->count - 1]; /* else nothing is known about who asked */
  *numbers = path->numbers;
  *count = known ? path->count : 0;
  return true;
}

int hwi_stack_rows(struct hwi_comparison *comparison, struct hwi_error *error)
{
  struct matcher matcher = {.comparison = comparison, .error = error};
  bool done = add_stacks(&matcher) && hwi_join_similar(comparison, make_loose_path, &matcher);
  free(matcher.path.numbers);
  free(matcher.path.vague);
  if (done)
    return HW_OK;
  return hwi_error_set(error, HW_ERR_MEMORY, "no memory for comparing %zu stacks", comparison->row_count);
}
