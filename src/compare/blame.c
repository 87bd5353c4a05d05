/* blame.c - the stacks that made a rule fail, and those that increased its figure compared with the baseline */
#include "compare/blame.h"

#include <stdlib.h>

#include "report/content/duplicate_stacks.h"
#include "trace/grow.h"
#include "trace/radix_sort.h"
#include "trace/store.h"
#include "trace/table.h"

enum { SMALLEST_SHARE = 200 }; /* stacks below 1/200 of the whole are not blamed */

/* --- growth --- */

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

static bool find_growth(struct rows *rows, const struct hwi_measure *const measures[2], struct hwi_stack_paths *paths,
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
  bool any = false, done = *growth && find_growth(&rows, measures, paths, *growth, &any);
  free(rows.items);
  hwi_store_release(&rows.paths);
  if (!any) {
    free(*growth);
    *growth = NULL;
  }
  return done ? HW_OK : hwi_error_set(paths->error, HW_ERR_MEMORY, "no memory for comparing %u stacks", count);
}

/* --- the stacks to blame --- */

/* Returns the figure or the growth by stack, depending on the rule. */
static const uint64_t *parts_of(const struct hwi_verdict *verdict)
{
  return verdict->growth ? verdict->growth : verdict->measure->by_stack;
}

static bool is_of_time(const struct hwi_verdict *verdict)
{
  return hwi_metric_unit(verdict->budget->metric) == HWI_UNIT_NS;
}

/* Returns the stacks with a part of the figure, the largest first; for durations only those over the limit. The caller
 * frees it. Returns NULL if there is no memory. */
static uint32_t *rank(const struct hwi_check *check, const struct hwi_verdict *verdict, uint32_t *count)
{
  const uint32_t all = check->report.profile->stack_count;
  const uint64_t *parts = parts_of(verdict);
  uint64_t least = hwi_budget_is_of_longest(verdict->budget) ? verdict->limit : 0;
  struct hwi_sort_item *ranked = hwi_table_calloc((size_t)all + 1, sizeof *ranked);
  uint32_t *stacks = calloc((size_t)all + 1, sizeof *stacks);
  *count = 0;
  for (uint32_t i = 1; i < all && ranked && parts; i++) {
    if (parts[i] > least)
      ranked[(*count)++] = (struct hwi_sort_item){.key = parts[i], .item = i};
  }
  bool done = ranked && stacks && hwi_radix_sort(ranked, *count);
  for (uint32_t i = 0; i < *count && done; i++)
    stacks[i] = ranked[i].item;
  free(ranked);
  if (done)
    return stacks;
  free(stacks);
  return NULL;
}

static uint64_t part_of(const void *context, uint32_t stack)
{
  return parts_of(context)[stack];
}

static void add(struct hwi_blames *blames, const struct hwi_verdict *verdict, const struct hwi_duplicates_group *group)
{
  struct hwi_blame blame = {.stack = group->stacks[0]};
  if (blames->count > 0 && group->cost < blames->whole / SMALLEST_SHARE)
    return;
  for (uint32_t i = 0; i < group->count; i++) {
    blame.figure += verdict->measure->by_stack[group->stacks[i]];
    blame.growth += verdict->growth ? verdict->growth[group->stacks[i]] : 0;
  }
  blames->items[blames->count++] = blame;
}

static int find(struct hwi_blames *blames, const struct hwi_check *check, const struct hwi_verdict *verdict,
                const struct hwi_duplicates_ranking *ranking, struct hwi_error *error)
{
  struct hwi_duplicates duplicates = {0};
  int status = HW_OK;
  if (!is_of_time(verdict))
    status = hwi_duplicates_init(&duplicates, &check->frames, ranking, check->top, error);
  for (size_t i = 0; i < duplicates.count && status == HW_OK; i++)
    add(blames, verdict, &duplicates.groups[i]);
  for (uint32_t i = 0; i < ranking->count && i < check->top && is_of_time(verdict); i++)
    add(blames, verdict, &(struct hwi_duplicates_group){&ranking->stacks[i], 1, part_of(verdict, ranking->stacks[i])});
  hwi_duplicates_release(&duplicates);
  return status;
}

int hwi_blames_init(struct hwi_blames *blames, const struct hwi_check *check, const struct hwi_verdict *verdict,
                    struct hwi_error *error)
{
  uint64_t figure = verdict->measure->figure;
  struct hwi_duplicates_ranking ranking = {.cost = part_of, .context = verdict};
  uint32_t *stacks = rank(check, verdict, &ranking.count);
  ranking.stacks = stacks;
  *blames = (struct hwi_blames){.items = calloc(check->top + 1, sizeof *blames->items), .whole = figure};
  if (verdict->growth)
    blames->whole = figure > verdict->baseline ? figure - verdict->baseline : 0;
  int status = HW_OK;
  if (!stacks || !blames->items)
    status = hwi_error_set(error, HW_ERR_MEMORY, "no memory for the stacks to blame");
  else
    status = find(blames, check, verdict, &ranking, error);
  free(stacks);
  return status;
}

void hwi_blames_release(struct hwi_blames *blames)
{
  free(blames->items);
  *blames = (struct hwi_blames){0};
}
