/* tree.c - the selected stacks as a tree
 *
 * The tree is not in memory. Rows (stacks) are sorted once by their ways. A node is a run of rows whose ways are the
 * same so far. Its children are the runs of rows with the same next step; these only have to be sorted by cost. So
 * the ways are the only memory, for a tree of any size, and branches that are cut are never visited. The nodes from
 * the root to the current one are stored as levels; there is no recursion, since stacks may be thousands of frames
 * deep.
 */
#define _GNU_SOURCE
#include "report/content/tree.h"

#include <math.h>
#include <stdlib.h>

#include "trace/grow.h"

enum { ENDED = 0, FIRST_GROUP_KEY = 1 }; /* keys of rows: rows whose way has ended come first */
#define LOOP_BIT UINT32_C(0x80000000)    /* of a step: a loop led back to it */

struct hwi_tree_row {
  uint32_t rank;     /* in the selection */
  uint32_t order;    /* position in the order of the ways */
  uint32_t length;   /* of the way */
  size_t first;      /* step */
  uint32_t key;      /* of the current step */
  uint64_t run_cost; /* of all rows with this key */
};

const char *const hwi_tree_names[] = {"none", "callers", "callees", "scopes", NULL};

struct hwi_tree_cut hwi_tree_cut_of(const struct hwi_report_options *options, const struct hwi_selection *selection,
                                    double share)
{
  uint64_t top = options->top == HWI_TOP_DEFAULT ? 0 : options->top;
  if (options->min_share >= 0)
    share = options->min_share;
  else if (options->top == 0)
    share = 0;
  double least = ceil((double)hwi_amount_cost(&selection->all, selection->cost) * share / 100);
  return (struct hwi_tree_cut){.least = (uint64_t)least, .top = top};
}

/* --- ways --- */

static bool add_step(struct hwi_tree *tree, uint32_t step)
{
  if (!hwi_grow((void **)&tree->steps, &tree->step_room, tree->step_count + 1, sizeof *tree->steps))
    return false;
  tree->steps[tree->step_count++] = step;
  return true;
}

/* If the way from step `first` on already has the group of `member`, returns to that step and returns true. A member
 * that represents many functions closes no loop; consecutive ones are one step. */
static bool closes_loop(struct hwi_tree *tree, size_t first, uint32_t member)
{
  const struct hwi_group_member *members = tree->table.members;
  for (size_t i = tree->step_count; i-- > first;) {
    if (members[tree->steps[i] & ~LOOP_BIT].group != members[member].group) {
      if (members[member].vague)
        return false;
      continue;
    }
    if (members[member].vague)
      return true;
    tree->steps[i] |= LOOP_BIT;
    tree->step_count = i + 1;
    return true;
  }
  return false;
}

static uint32_t member_of(struct hwi_tree *tree, const struct hwi_shown_frame *frame)
{
  if (!frame->symbol)
    return HWI_GROUP_LEFT_OUT;
  return hwi_group_table_find(&tree->table, frame->symbol, frame->module);
}

/* Adds the way of the stack loaded last. Returns false if there is no memory. */
static bool add_way(struct hwi_tree *tree, struct hwi_tree_row *row, const struct hwi_report_options *options,
                    const struct hwi_named_frames *frames)
{
  uint32_t first = 0, last = frames->count;
  bool folds = !options->all_frames, no_frames = options->by == HWI_BY_FILE || options->by == HWI_BY_MODULE;
  if (folds)
    hwi_named_frames_trim(frames, &first, &last);
  row->first = tree->step_count;
  for (uint32_t i = 0; i < last - first; i++) {
    uint32_t at = options->tree == HWI_TREE_CALLERS ? last - 1 - i : first + i;
    uint32_t member = member_of(tree, &frames->items[at]);
    if (member == 0)
      return false;
    bool joins = member != HWI_GROUP_LEFT_OUT && (folds || no_frames) && closes_loop(tree, row->first, member);
    if (!joins && !add_step(tree, member))
      return false;
  }
  if (first == last && !add_step(tree, HWI_GROUP_UNKNOWN))
    return false;
  row->length = (uint32_t)(tree->step_count - row->first);
  return true;
}

/* Compares by the groups of the ways, then by rank, so that the order is always the same. */
static int compare_ways(const void *left, const void *right, void *context)
{
  const struct hwi_tree *tree = context;
  const struct hwi_tree_row *a = left, *b = right;
  for (uint32_t i = 0; i < a->length && i < b->length; i++) {
    uint32_t group_a = tree->table.members[tree->steps[a->first + i] & ~LOOP_BIT].group;
    uint32_t group_b = tree->table.members[tree->steps[b->first + i] & ~LOOP_BIT].group;
    if (group_a != group_b)
      return group_a < group_b ? -1 : 1;
  }
  if (a->length != b->length)
    return a->length < b->length ? -1 : 1;
  return a->rank < b->rank ? -1 : a->rank > b->rank;
}

int hwi_tree_init(struct hwi_tree *tree, const struct hwi_report *report, const struct hwi_selection *selection,
                  struct hwi_named_frames *frames, struct hwi_error *error)
{
  *tree =
      (struct hwi_tree){.selection = selection, .rows = calloc((size_t)selection->stack_count + 1, sizeof *tree->rows)};
  bool made = hwi_group_table_init(&tree->table, (enum hwi_by)report->options.by) && tree->rows;
  for (uint32_t rank = 0; rank < selection->stack_count && made; rank++) {
    struct hwi_tree_row *row = &tree->rows[tree->row_count++];
    row->rank = rank;
    made = hwi_named_frames_load(frames, selection->stacks[rank], NULL) == HW_OK &&
           add_way(tree, row, &report->options, frames);
  }
  if (!made)
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory for a tree of %u stacks", selection->stack_count);
  qsort_r(tree->rows, tree->row_count, sizeof *tree->rows, compare_ways, tree);
  for (uint32_t i = 0; i < tree->row_count; i++)
    tree->rows[i].order = i;
  return HW_OK;
}

void hwi_tree_release(struct hwi_tree *tree)
{
  hwi_group_table_release(&tree->table);
  free(tree->rows);
  free(tree->steps);
  *tree = (struct hwi_tree){0};
}

/* --- runs of rows --- */

static int compare_runs(const void *left, const void *right)
{
  const struct hwi_tree_row *a = left, *b = right;
  if ((a->key == ENDED) != (b->key == ENDED))
    return a->key == ENDED ? -1 : 1;
  if (a->run_cost != b->run_cost)
    return a->run_cost > b->run_cost ? -1 : 1;
  return a->order < b->order ? -1 : a->order > b->order;
}

static uint32_t run_end(const struct hwi_tree *tree, uint32_t first, uint32_t end)
{
  uint32_t at = first + 1;
  while (at < end && tree->rows[at].key == tree->rows[first].key)
    at++;
  return at;
}

static const struct hwi_amount *amount_of(const struct hwi_tree *tree, uint32_t row)
{
  return &tree->selection->amounts[tree->selection->stacks[tree->rows[row].rank]];
}

static struct hwi_amount sum_rows(const struct hwi_tree *tree, uint32_t first, uint32_t end)
{
  struct hwi_amount sum = {0};
  for (uint32_t i = first; i < end; i++)
    hwi_amount_add(&sum, amount_of(tree, i));
  return sum;
}

static uint32_t step_of(const struct hwi_tree *tree, uint32_t row, uint32_t depth)
{
  return tree->steps[tree->rows[row].first + depth];
}

/* Sorts rows by their step at `depth`: first those whose way has ended, then the run with the largest cost, and so
 * on. */
static void sort_rows(struct hwi_tree *tree, uint32_t first, uint32_t end, uint32_t depth)
{
  enum hwi_cost cost = tree->selection->cost;
  for (uint32_t i = first; i < end; i++) {
    bool ended = tree->rows[i].length <= depth;
    tree->rows[i].key =
        ended ? ENDED : FIRST_GROUP_KEY + tree->table.members[step_of(tree, i, depth) & ~LOOP_BIT].group;
  }
  uint32_t runs = 0;
  for (uint32_t at = first, next; at < end; at = next, runs++) {
    uint64_t sum = 0;
    next = run_end(tree, at, end);
    for (uint32_t i = at; i < next; i++)
      sum += hwi_amount_cost(amount_of(tree, i), cost);
    for (uint32_t i = at; i < next; i++)
      tree->rows[i].run_cost = sum;
  }
  if (runs > 1)
    qsort(tree->rows + first, end - first, sizeof *tree->rows, compare_runs);
}

/* --- nodes --- */

/* A node on the way to the current one, and its branches that are still to be visited. */
struct level {
  uint32_t next, end; /* rows */
  uint32_t number, branches_left;
  bool has_cut;
};

struct walk {
  struct hwi_tree *tree;
  const struct hwi_tree_cut *cut;
  struct level *levels;
  size_t level_count, level_room;
};

static bool is_cut(const struct walk *walk, const struct hwi_tree_node *node, uint64_t cost)
{
  return cost < walk->cut->least || (walk->cut->top > 0 && node->branches >= walk->cut->top);
}

/* Makes a node from its rows: its figures, and the level of its branches, whose steps are at `depth`. Returns false
 * if there is no memory. */
static bool open_node(struct walk *walk, struct hwi_tree_node *node, uint32_t first, uint32_t end, uint32_t depth)
{
  struct hwi_tree *tree = walk->tree;
  if (!hwi_grow((void **)&walk->levels, &walk->level_room, walk->level_count + 1, sizeof *walk->levels))
    return false;
  sort_rows(tree, first, end, depth);
  struct level level = {.next = first, .end = first, .number = node->number};
  if (first < end && tree->rows[first].key == ENDED)
    level.next = level.end = run_end(tree, first, end);
  node->total = sum_rows(tree, first, end);
  node->self = sum_rows(tree, first, level.next);
  for (uint32_t at = level.next, next; at < end; at = next) {
    next = run_end(tree, at, end);
    uint64_t cost = tree->rows[at].run_cost;
    if (!is_cut(walk, node, cost)) {
      node->branches++;
      level.end = next;
    } else {
      node->cut_count += cost > 0;
      struct hwi_amount amount = sum_rows(tree, at, next);
      hwi_amount_add(&node->cut, &amount);
    }
  }
  level.branches_left = node->branches;
  level.has_cut = node->cut_count > 0;
  walk->levels[walk->level_count++] = level;
  return true;
}

static void describe(const struct hwi_tree *tree, struct hwi_tree_node *node, uint32_t first, uint32_t end)
{
  node->member = &tree->table.members[step_of(tree, first, node->depth) & ~LOOP_BIT];
  for (uint32_t i = first; i < end; i++) {
    uint32_t step = step_of(tree, i, node->depth);
    const struct hwi_symbol *symbol = tree->table.members[step & ~LOOP_BIT].symbol;
    node->recurs |= (step & LOOP_BIT) != 0;
    node->several_lines |= symbol && symbol->line != node->member->symbol->line;
  }
}

static bool walk_all(struct walk *walk, const struct hwi_tree_visitor *visitor, struct hwi_tree_node *whole)
{
  uint32_t number = 0;
  *whole = (struct hwi_tree_node){.number = HWI_TREE_NO_PARENT, .parent = HWI_TREE_NO_PARENT};
  if (!open_node(walk, whole, 0, walk->tree->row_count, 0))
    return false;
  while (walk->level_count > 0) {
    struct level *level = &walk->levels[walk->level_count - 1];
    if (level->next == level->end) {
      walk->level_count--;
      continue;
    }
    uint32_t first = level->next, end = run_end(walk->tree, first, level->end);
    struct hwi_tree_node node = {.number = number++,
                                 .parent = level->number,
                                 .depth = (uint32_t)walk->level_count - 1,
                                 .is_last = --level->branches_left == 0 && !level->has_cut};
    level->next = end;
    describe(walk->tree, &node, first, end);
    if (!open_node(walk, &node, first, end, node.depth + 1))
      return false;
    visitor->visit(visitor->context, &node);
  }
  return true;
}

int hwi_tree_walk(struct hwi_tree *tree, const struct hwi_tree_cut *cut, const struct hwi_tree_visitor *visitor,
                  struct hwi_tree_node *whole, struct hwi_error *error)
{
  struct walk walk = {.tree = tree, .cut = cut};
  bool walked = walk_all(&walk, visitor, whole);
  free(walk.levels);
  return walked ? HW_OK : hwi_error_set(error, HW_ERR_MEMORY, "no memory for a tree of %u stacks", tree->row_count);
}
