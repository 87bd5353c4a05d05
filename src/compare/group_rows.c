/* group_rows.c - which functions, source files, source lines and modules of two runs are the same
 *
 * Line numbers shift when code above them is edited. The allocating lines of a function keep their order: if both runs
 * have the same number of them, the first line of OLD matches the first of NEW, and so on. Otherwise the shift is used
 * that makes the most lines match, and of such shifts the one with most equal figures.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "compare/rows.h"

/* --- groups that are identified by one frame --- */

/* Returns the last `components` of a path. */
static const char *tail_of(const char *path, int components)
{
  const char *tail = path + strlen(path);
  while (tail > path && !(tail[-1] == '/' && --components == 0))
    tail--;
  return tail;
}

static size_t count_tails(const struct hwi_groups *groups, const char *tail, int components)
{
  size_t count = 0;
  for (uint32_t i = 0; i < groups->count; i++) {
    const struct hwi_symbol *symbol = groups->items[i].symbol;
    count += symbol && symbol->file && strcmp(tail_of(symbol->file, components), tail) == 0;
  }
  return count;
}

/* Returns the shortest end of a path that is unique among the files of its run, since builds are in different
 * folders. */
static const char *file_key(const struct hwi_comparison *comparison, const char *path)
{
  enum { COMPONENTS_MAX = 8 };
  for (int components = 1; components < COMPONENTS_MAX; components++) {
    const char *tail = tail_of(path, components);
    if (count_tails(&comparison->sides[HWI_OLD].groups, tail, components) <= 1 &&
        count_tails(&comparison->sides[HWI_NEW].groups, tail, components) <= 1)
      return tail;
  }
  return path;
}

/* Returns the ID of a group, or 0 if there is no memory. */
static uint32_t number_of(struct hwi_comparison *comparison, int side, const struct hwi_group *group)
{
  struct hwi_identities *identities = &comparison->identities;
  const char *module = identities->sides[side].module_names[group->module];
  const struct hwi_symbol *symbol = group->symbol;
  if (!symbol)
    return hwi_identities_text(identities, "unknown", "");
  switch ((enum hwi_by)comparison->options->report.by) {
  case HWI_BY_FUNCTION: {
    const struct hwi_shown_frame frame = {.symbol = symbol, .module = group->module};
    struct hwi_identity identity;
    if (!symbol->function)
      break;
    return hwi_identities_find(identities, side, &frame, &identity) ? identity.strict : 0;
  }
  case HWI_BY_FILE:
    if (symbol->file)
      return hwi_identities_text(identities, "file", file_key(comparison, symbol->file));
    break;
  default:
    break;
  }
  return hwi_identities_text(identities, "module", module);
}

static void add_group(struct hwi_diff_row *row, int side, uint32_t item, const struct hwi_group *group)
{
  hwi_diff_row_add(row, side, item, &group->self);
  hwi_amount_add(&row->totals[side], &group->total);
}

static bool add_groups(struct hwi_comparison *comparison)
{
  struct hwi_diff_row_table table = {.comparison = comparison};
  bool added = true;
  for (int side = 0; side < HWI_SIDES; side++) {
    const struct hwi_groups *groups = &comparison->sides[side].groups;
    for (uint32_t i = 0; i < groups->count && added; i++) {
      uint32_t number = number_of(comparison, side, &groups->items[i]);
      struct hwi_diff_row *row = number != 0 ? hwi_diff_row_table_find(&table, number) : NULL;
      added = row;
      if (added)
        add_group(row, side, i, &groups->items[i]);
    }
  }
  hwi_diff_row_table_release(&table);
  return added;
}

/* A function that moved to another file or has other parameters. */
struct loose_function {
  struct hwi_comparison *comparison;
  uint32_t number;
};

static bool find_loose_function(void *context, int side, const struct hwi_diff_row *row, const uint32_t **numbers,
                                size_t *count)
{
  struct loose_function *found = context;
  const struct hwi_group *group = &found->comparison->sides[side].groups.items[row->items[side]];
  *numbers = &found->number;
  *count = group->symbol && group->symbol->function;
  if (*count == 0)
    return true;
  const struct hwi_shown_frame frame = {.symbol = group->symbol, .module = group->module};
  struct hwi_identity identity;
  bool known = hwi_identities_find(&found->comparison->identities, side, &frame, &identity);
  found->number = identity.loose;
  return known;
}

static bool add_functions(struct hwi_comparison *comparison)
{
  struct loose_function found = {.comparison = comparison};
  return add_groups(comparison) && hwi_join_similar(comparison, find_loose_function, &found);
}

/* --- source lines --- */

struct source_line {
  uint32_t place; /* the ID of its file and function */
  uint32_t line, item;
};

struct source_lines {
  struct source_line *items;
  size_t count;
};

/* Returns the ID of the file and the loose name of the function: instances of a template share a line. */
static uint32_t place_of(struct hwi_comparison *comparison, int side, const struct hwi_group *group)
{
  const struct hwi_symbol *symbol = group->symbol;
  if (!symbol || !symbol->file)
    return number_of(comparison, side, group);
  const struct hwi_shown_frame frame = {.symbol = symbol, .module = group->module};
  struct hwi_identity identity;
  if (!hwi_identities_find(&comparison->identities, side, &frame, &identity))
    return 0;
  char loose[sizeof identity.loose * 2 + 1];
  snprintf(loose, sizeof loose, "%08" PRIx32, identity.loose);
  return hwi_identities_text(&comparison->identities, loose, hwi_base_name(symbol->file));
}

static int compare_source_lines(const void *left, const void *right)
{
  const struct source_line *a = left, *b = right;
  if (a->place != b->place)
    return a->place < b->place ? -1 : 1;
  return a->line < b->line ? -1 : a->line > b->line;
}

static bool find_source_lines(struct hwi_comparison *comparison, int side, struct source_lines *lines)
{
  const struct hwi_groups *groups = &comparison->sides[side].groups;
  lines->items = calloc((size_t)groups->count + 1, sizeof *lines->items);
  for (uint32_t i = 0; i < groups->count && lines->items; i++) {
    const struct hwi_group *group = &groups->items[i];
    uint32_t line = group->symbol ? group->symbol->line : 0;
    lines->items[lines->count] = (struct source_line){place_of(comparison, side, group), line, i};
    if (lines->items[lines->count++].place == 0)
      return false;
  }
  if (lines->count > 0)
    qsort(lines->items, lines->count, sizeof *lines->items, compare_source_lines);
  return lines->items;
}

/* How well the lines of two runs match. */
struct fit {
  size_t matches; /* lines of OLD that match a line of NEW */
  size_t equal;   /* ... with the same figures */
};

static bool is_better(struct fit a, struct fit b)
{
  return a.matches != b.matches ? a.matches > b.matches : a.equal > b.equal;
}

/* Returns the fit with `shift` added to the lines of OLD. Both lists ascend. */
static struct fit fit_of(const struct hwi_comparison *comparison, const struct source_lines *old,
                         const struct source_lines *new, int64_t shift)
{
  struct fit fit = {0};
  for (size_t i = 0, k = 0; i < old->count && k < new->count;) {
    int64_t left = old->items[i].line + shift, right = new->items[k].line;
    if (left == right) {
      const struct hwi_group *a = &comparison->sides[HWI_OLD].groups.items[old->items[i].item];
      const struct hwi_group *b = &comparison->sides[HWI_NEW].groups.items[new->items[k].item];
      fit.matches++;
      fit.equal += memcmp(&a->total, &b->total, sizeof a->total) == 0;
    }
    i += left <= right;
    k += right <= left;
  }
  return fit;
}

/* Returns the shift that makes most lines match, the smallest of several. */
static int64_t best_shift(const struct hwi_comparison *comparison, const struct source_lines *old,
                          const struct source_lines *new)
{
  int64_t best = 0;
  struct fit best_fit = fit_of(comparison, old, new, 0);
  for (size_t i = 0; i < old->count; i++) {
    for (size_t k = 0; k < new->count; k++) {
      int64_t shift = (int64_t) new->items[k].line - old->items[i].line;
      struct fit fit = fit_of(comparison, old, new, shift);
      if (is_better(fit, best_fit) || (!is_better(best_fit, fit) && llabs(shift) < llabs(best))) {
        best = shift;
        best_fit = fit;
      }
    }
  }
  return best;
}

static bool add_source_line(struct hwi_comparison *comparison, struct hwi_diff_row_table *table, int side,
                            uint32_t number, const struct source_line *line)
{
  struct hwi_diff_row *row = hwi_diff_row_table_find(table, number);
  if (row)
    add_group(row, side, line->item, &comparison->sides[side].groups.items[line->item]);
  return row;
}

/* Adds the lines of one place. Numbers below `*next` are in use. */
static bool add_place(struct hwi_comparison *comparison, struct hwi_diff_row_table *table,
                      const struct source_lines *old, const struct source_lines *new, uint32_t *next)
{
  enum { SHIFTED_MAX = 64 };
  bool in_order = old->count == new->count, tried = old->count <= SHIFTED_MAX &&new->count <= SHIFTED_MAX;
  int64_t shift = !in_order && tried ? best_shift(comparison, old, new) : 0;
  bool added = true;
  size_t k = 0;
  for (size_t i = 0; i < old->count && added; i++, ++*next) {
    int64_t wanted = old->items[i].line + shift;
    for (; !in_order && k < new->count &&new->items[k].line < wanted &&added; k++, ++*next)
      added = add_source_line(comparison, table, HWI_NEW, *next, &new->items[k]);
    added = added && add_source_line(comparison, table, HWI_OLD, *next, &old->items[i]);
    if (added && k < new->count && (in_order || new->items[k].line == wanted))
      added = add_source_line(comparison, table, HWI_NEW, *next, &new->items[k++]);
  }
  for (; k < new->count &&added; k++, ++*next)
    added = add_source_line(comparison, table, HWI_NEW, *next, &new->items[k]);
  return added;
}

/* Removes the lines of `place` from the front of `lines` and returns them. */
static struct source_lines take_place(struct source_lines *lines, uint32_t place)
{
  struct source_lines taken = {.items = lines->items};
  while (taken.count < lines->count && taken.items[taken.count].place == place)
    taken.count++;
  lines->items += taken.count;
  lines->count -= taken.count;
  return taken;
}

static bool add_source_lines(struct hwi_comparison *comparison)
{
  struct source_lines lines[HWI_SIDES] = {{0}};
  struct hwi_diff_row_table table = {.comparison = comparison};
  bool added = find_source_lines(comparison, HWI_OLD, &lines[HWI_OLD]) &&
               find_source_lines(comparison, HWI_NEW, &lines[HWI_NEW]);
  struct source_lines old = lines[HWI_OLD], new = lines[HWI_NEW];
  uint32_t next = 1;
  while (added && old.count + new.count > 0) {
    bool old_first = new.count == 0 || (old.count > 0 && old.items->place <= new.items->place);
    uint32_t place = old_first ? old.items->place : new.items->place;
    struct source_lines of_old = take_place(&old, place), of_new = take_place(&new, place);
    added = add_place(comparison, &table, &of_old, &of_new, &next);
  }
  free(lines[HWI_OLD].items);
  free(lines[HWI_NEW].items);
  hwi_diff_row_table_release(&table);
  return added;
}

int hwi_group_rows(struct hwi_comparison *comparison, struct hwi_error *error)
{
  int status = HW_OK;
  for (int i = 0; i < HWI_SIDES && status == HW_OK; i++) {
    struct hwi_compare_side *side = &comparison->sides[i];
    status = hwi_groups_init(&side->groups, &side->report, &side->selection, &side->frames, error);
  }
  if (status < 0)
    return status;
  int by = comparison->options->report.by;
  bool (*add)(struct hwi_comparison *) = by == HWI_BY_LINE       ? add_source_lines
                                         : by == HWI_BY_FUNCTION ? add_functions
                                                                 : add_groups;
  if (add(comparison))
    return HW_OK;
  return hwi_error_set(error, HW_ERR_MEMORY, "no memory for comparing %zu rows", comparison->row_count);
}
