/* groups.c - stacks grouped by function, source file, source line or module
 *
 * The frames of all stacks form one tree in which a caller's index is smaller than its callees'. So one pass from the
 * highest index down, which adds each frame's amount to its caller's, gives the total of every frame. A group's total
 * is the sum over its frames that have no frame of the same group above them, so recursion is counted once. The cost of
 * this is a look at each frame's callers: frames times depth, with one comparison of integers each.
 *
 * Because of inlining, a frame may be several functions. `memberships` has the group numbers of each frame,
 * innermost first, frame after frame.
 */
#include "report/content/groups.h"

#include <stdlib.h>
#include <string.h>

#include "report/content/group_table.h"

enum { MEMBERSHIPS_MIN = 1024 };
#define WRAPPER_BIT UINT32_C(0x80000000) /* in a membership: the function only passes allocations on */
#define HIDDEN_BIT UINT32_C(0x40000000)  /* ... the function has no name */
#define GROUP_MASK UINT32_C(0x3fffffff)

struct builder {
  const struct hwi_report *report;
  const struct hwi_named_frames *frames;
  struct hwi_groups *groups;
  struct hwi_group_table table;
  struct hwi_amount *amounts; /* by frame */
  uint32_t *offsets;          /* by frame, into memberships; one more than there are frames */
  uint32_t *memberships;
  uint32_t membership_count, membership_room;
};

/* --- the passes --- */

static bool append_membership(struct builder *builder, const struct hwi_symbol *symbol, uint32_t module)
{
  uint32_t number = hwi_group_table_find(&builder->table, symbol, module);
  if (number == 0)
    return false;
  if (builder->membership_count == builder->membership_room) {
    uint32_t room = builder->membership_room > 0 ? builder->membership_room * 2 : MEMBERSHIPS_MIN;
    uint32_t *memberships = realloc(builder->memberships, room * sizeof *memberships);
    if (!memberships)
      return false;
    builder->memberships = memberships;
    builder->membership_room = room;
  }
  const struct hwi_group_member *member = &builder->table.members[number];
  bool folds = !builder->report->options.all_frames;
  builder->memberships[builder->membership_count++] =
      member->group | (folds && member->wraps ? WRAPPER_BIT : 0) | (folds && member->unnamed ? HIDDEN_BIT : 0);
  return true;
}

/* Names the frames of the selected stacks, and no others. */
static bool find_memberships(struct builder *builder)
{
  const struct hwi_profile *profile = builder->report->profile;
  for (uint32_t frame = 0; frame < profile->frame_count; frame++) {
    builder->offsets[frame] = builder->membership_count;
    if (frame == 0 || hwi_amount_is_nothing(&builder->amounts[frame]) || profile->frames[frame].cut)
      continue;
    const struct hwi_symbol *symbols;
    uint32_t count = hwi_named_frames_find(builder->frames, frame, &symbols);
    for (uint32_t i = 0; i < count; i++) {
      if (!append_membership(builder, &symbols[i], profile->frames[frame].module))
        return false;
    }
  }
  builder->offsets[profile->frame_count] = builder->membership_count;
  return true;
}

static void sum_frames(struct builder *builder, const struct hwi_selection *selection)
{
  const struct hwi_profile *profile = builder->report->profile;
  for (uint32_t i = 0; i < selection->stack_count; i++) {
    uint32_t stack = selection->stacks[i];
    hwi_amount_add(&builder->amounts[profile->stacks[stack].frame], &selection->amounts[stack]);
  }
  for (uint32_t frame = profile->frame_count; frame-- > 1;) {
    uint32_t caller = profile->frames[frame].caller;
    if (caller != 0) /* index 0 is for unknown stacks */
      hwi_amount_add(&builder->amounts[caller], &builder->amounts[frame]);
  }
}

static bool occurs_from(const struct builder *builder, uint32_t from, uint32_t to, uint32_t group)
{
  for (uint32_t i = from; i < to; i++) {
    if ((builder->memberships[i] & GROUP_MASK) == group)
      return true;
  }
  return false;
}

/* Whether `group` occurs further out than membership `index` of `frame`. */
static bool occurs_above(const struct builder *builder, uint32_t frame, uint32_t index, uint32_t group)
{
  const struct hwi_frame *tree = builder->report->profile->frames;
  if (occurs_from(builder, index + 1, builder->offsets[frame + 1], group))
    return true;
  for (uint32_t at = tree[frame].caller; at != 0; at = tree[at].caller) {
    if (occurs_from(builder, builder->offsets[at], builder->offsets[at + 1], group))
      return true;
  }
  return false;
}

/* Makes the groups of the members found. */
static bool create_groups(struct hwi_groups *groups, const struct hwi_group_table *table)
{
  groups->items = calloc(table->group_count, sizeof *groups->items);
  if (!groups->items)
    return false;
  groups->count = table->group_count;
  for (uint32_t i = table->member_count; i-- > 0;) { /* the first member represents its group */
    const struct hwi_group_member *member = &table->members[i];
    groups->items[member->group] = (struct hwi_group){.symbol = member->symbol, .module = member->module};
  }
  return true;
}

static void sum_totals(struct builder *builder)
{
  for (uint32_t frame = 1; frame < builder->report->profile->frame_count; frame++) {
    for (uint32_t i = builder->offsets[frame]; i < builder->offsets[frame + 1]; i++) {
      uint32_t group = builder->memberships[i] & GROUP_MASK;
      if (!occurs_above(builder, frame, i, group))
        hwi_amount_add(&builder->groups->items[group].total, &builder->amounts[frame]);
    }
  }
  hwi_amount_add(&builder->groups->items[HWI_GROUP_UNKNOWN].total, &builder->amounts[0]);
}

/* Returns the group that requested a stack's allocations, as hwi_named_frames_trim finds it: the group of the
 * innermost frame that is neither a wrapper nor a wrapper's helper without a name, else of the outermost frame. */
static uint32_t self_group(const struct builder *builder, uint32_t stack)
{
  const struct hwi_profile *profile = builder->report->profile;
  uint32_t last = HWI_GROUP_UNKNOWN, found = HWI_GROUP_UNKNOWN, hidden = 0, hidden_module = 0;
  for (uint32_t frame = profile->stacks[stack].frame; frame != 0; frame = profile->frames[frame].caller) {
    for (uint32_t i = builder->offsets[frame]; i < builder->offsets[frame + 1]; i++) {
      uint32_t membership = builder->memberships[i];
      last = membership & GROUP_MASK;
      if (membership & WRAPPER_BIT) {
        hidden = 0; /* the frames without a name before it were its helpers */
        continue;
      }
      if (hidden == 0) {
        found = last;
        hidden_module = profile->frames[frame].module;
      }
      bool helper = (membership & HIDDEN_BIT) && profile->frames[frame].module == hidden_module;
      if (!helper || ++hidden > HWI_HIDDEN_HELPERS_MAX)
        return found;
    }
  }
  return hidden > 0 ? found : last;
}

static int compare_groups(const void *left, const void *right, void *context)
{
  enum hwi_cost cost = *(const enum hwi_cost *)context;
  const struct hwi_group *a = left, *b = right;
  uint64_t self_a = hwi_amount_cost(&a->self, cost), self_b = hwi_amount_cost(&b->self, cost);
  if (self_a != self_b)
    return self_a > self_b ? -1 : 1;
  uint64_t total_a = hwi_amount_cost(&a->total, cost), total_b = hwi_amount_cost(&b->total, cost);
  if (total_a != total_b)
    return total_a > total_b ? -1 : 1;
  return a->module < b->module ? -1 : a->module > b->module;
}

/* Drops groups without stacks: mostly the group of unknown stacks. */
static void drop_empty(struct hwi_groups *groups)
{
  uint32_t kept = 0;
  for (uint32_t i = 0; i < groups->count; i++) {
    if (!hwi_amount_is_nothing(&groups->items[i].total))
      groups->items[kept++] = groups->items[i];
  }
  groups->count = kept;
}

static bool build(struct builder *builder, const struct hwi_selection *selection)
{
  size_t frame_count = (size_t)builder->report->profile->frame_count + 1;
  builder->amounts = calloc(frame_count, sizeof *builder->amounts);
  builder->offsets = calloc(frame_count, sizeof *builder->offsets);
  if (!builder->amounts || !builder->offsets ||
      !hwi_group_table_init(&builder->table, (enum hwi_by)builder->report->options.by))
    return false;
  sum_frames(builder, selection);
  if (!find_memberships(builder) || !create_groups(builder->groups, &builder->table))
    return false;
  sum_totals(builder);
  for (uint32_t i = 0; i < selection->stack_count; i++) {
    uint32_t stack = selection->stacks[i];
    hwi_amount_add(&builder->groups->items[self_group(builder, stack)].self, &selection->amounts[stack]);
  }
  return true;
}

int hwi_groups_init(struct hwi_groups *groups, const struct hwi_report *report, const struct hwi_selection *selection,
                    const struct hwi_named_frames *frames, struct hwi_error *error)
{
  *groups = (struct hwi_groups){0};
  struct builder builder = {.report = report, .frames = frames, .groups = groups};
  bool built = build(&builder, selection);
  free(builder.amounts);
  free(builder.offsets);
  free(builder.memberships);
  hwi_group_table_release(&builder.table);
  if (!built) {
    hwi_groups_release(groups);
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory for grouping %u frames", report->profile->frame_count);
  }
  drop_empty(groups);
  enum hwi_cost cost = selection->cost;
  qsort_r(groups->items, groups->count, sizeof *groups->items, compare_groups, &cost);
  return HW_OK;
}

void hwi_groups_release(struct hwi_groups *groups)
{
  free(groups->items);
  *groups = (struct hwi_groups){0};
}
