/* similar_rows.c - joins rows that only one side has, but that are most likely the same code
 *
 * Between two runs, a compiler may inline differently, or a function may get other parameters, move to another file or
 * be split. Two rows whose loose IDs are known and which allocate in the same function are joined as `similar` if their
 * paths are equal, or if one path is the other with frames left out. This is done only if each is the other's only
 * candidate, so that nothing is guessed.
 */
#include <stdlib.h>
#include <string.h>

#include "compare/rows.h"
#include "trace/grow.h"

enum { GROUP_MAX = 256 }; /* rows with the same innermost function; among more, an only candidate would be chance */

struct candidate {
  uint32_t *numbers; /* outermost first */
  size_t count;
  size_t row;
  int side;
  uint32_t innermost;
  uint32_t matches, match; /* number of matches on the other side, and one of them */
};

struct candidates {
  struct candidate *items;
  size_t count, room;
  hwi_loose_path *path_of;
  void *context;
};

static bool add_candidate(struct candidates *candidates, const struct hwi_comparison *comparison, size_t row)
{
  const struct hwi_diff_row *alone = &comparison->rows[row];
  int side = alone->items[HWI_NEW] == HWI_NO_ITEM ? HWI_OLD : HWI_NEW;
  const uint32_t *path;
  size_t count;
  if (!candidates->path_of(candidates->context, side, alone, &path, &count))
    return false;
  if (count == 0)
    return true;
  uint32_t *numbers = malloc(count * sizeof *numbers);
  if (!numbers ||
      !hwi_grow((void **)&candidates->items, &candidates->room, candidates->count + 1, sizeof *candidates->items)) {
    free(numbers);
    return false;
  }
  memcpy(numbers, path, count * sizeof *numbers);
  candidates->items[candidates->count++] =
      (struct candidate){.numbers = numbers, .count = count, .row = row, .side = side, .innermost = numbers[count - 1]};
  return true;
}

static int compare_candidates(const void *left, const void *right)
{
  const struct candidate *a = left, *b = right;
  if (a->innermost != b->innermost)
    return a->innermost < b->innermost ? -1 : 1;
  return a->row < b->row ? -1 : a->row > b->row;
}

static bool are_equal(const struct candidate *a, const struct candidate *b)
{
  return a->count == b->count && memcmp(a->numbers, b->numbers, a->count * sizeof *a->numbers) == 0;
}

/* Returns whether one path is the other with numbers left out. */
static bool is_part(const struct candidate *a, const struct candidate *b)
{
  const struct candidate *longer = a->count > b->count ? a : b, *shorter = longer == a ? b : a;
  size_t found = 0;
  for (size_t i = 0; i < longer->count && found < shorter->count; i++)
    found += longer->numbers[i] == shorter->numbers[found];
  return found == shorter->count;
}

static void join(struct hwi_comparison *comparison, struct candidate *old, struct candidate *new)
{
  struct hwi_diff_row *row = &comparison->rows[new->row], *other = &comparison->rows[old->row];
  row->items[HWI_OLD] = other->items[HWI_OLD];
  row->item_counts[HWI_OLD] = other->item_counts[HWI_OLD];
  row->amounts[HWI_OLD] = other->amounts[HWI_OLD];
  row->totals[HWI_OLD] = other->totals[HWI_OLD];
  row->similar = true;
  *other = (struct hwi_diff_row){.items = {HWI_NO_ITEM, HWI_NO_ITEM}}; /* now empty, so unchanged */
  old->count = new->count = 0;
}

/* Joins the rows of a group that are each other's only match. */
static void match_group(struct hwi_comparison *comparison, struct candidate *group, size_t count,
                        bool (*matches)(const struct candidate *a, const struct candidate *b))
{
  for (size_t i = 0; i < count; i++)
    group[i].matches = 0;
  for (size_t i = 0; i < count; i++) {
    for (size_t k = i + 1; k < count; k++) {
      struct candidate *a = &group[i], *b = &group[k];
      if (a->side == b->side || a->count == 0 || b->count == 0 || !matches(a, b))
        continue;
      a->matches++, b->matches++;
      a->match = (uint32_t)k, b->match = (uint32_t)i;
    }
  }
  for (size_t i = 0; i < count; i++) {
    struct candidate *old = &group[i], *new = &group[old->match];
    if (old->side == HWI_OLD && old->matches == 1 && new->matches == 1)
      join(comparison, old, new);
  }
}

static void match_all(struct hwi_comparison *comparison, const struct candidates *candidates)
{
  size_t next;
  for (size_t at = 0; at < candidates->count; at = next) {
    struct candidate *group = &candidates->items[at];
    for (next = at + 1; next < candidates->count && candidates->items[next].innermost == group->innermost;)
      next++;
    if (next - at > GROUP_MAX)
      continue;
    match_group(comparison, group, next - at, are_equal);
    match_group(comparison, group, next - at, is_part);
  }
}

bool hwi_join_similar(struct hwi_comparison *comparison, hwi_loose_path *path_of, void *context)
{
  struct candidates candidates = {.path_of = path_of, .context = context};
  bool done = true;
  for (size_t i = 0; i < comparison->row_count && done; i++) {
    const struct hwi_diff_row *row = &comparison->rows[i];
    if (row->items[HWI_OLD] == HWI_NO_ITEM || row->items[HWI_NEW] == HWI_NO_ITEM)
      done = add_candidate(&candidates, comparison, i);
  }
  if (done && candidates.count > 0) {
    qsort(candidates.items, candidates.count, sizeof *candidates.items, compare_candidates);
    match_all(comparison, &candidates);
  }
  for (size_t i = 0; i < candidates.count; i++)
    free(candidates.items[i].numbers);
  free(candidates.items);
  return done;
}
