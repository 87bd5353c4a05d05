/* groups.c - stacks grouped by function, source file, source line or module
 *
 * The frames of all stacks form one tree in which a caller's index is smaller than its callees'. So the total of every
 * frame is had by one pass from the highest index down that adds each frame's amount to its caller's. A group's total is the
 * sum over its frames that have no frame of the same group above them, and recursion is counted once. What this costs is a
 * look at each frame's callers: frames times depth, with one comparison of integers each.
 *
 * A frame may be several functions by inlining; `memberships` holds the group numbers of each frame, innermost first, one
 * frame's after the other.
 */
#include "report/groups.h"

#include <stdlib.h>
#include <string.h>

#include "report/pattern.h"
#include "report/rules.h"

enum { SLOTS_MIN = 1024, UNKNOWN_GROUP = 0 };
#define WRAPPER_BIT UINT32_C(0x80000000) /* in a membership: the function only passes allocations on */
#define HIDDEN_BIT UINT32_C(0x40000000)  /* ... has no name */
#define GROUP_MASK UINT32_C(0x3fffffff)

/* Which group a symbol belongs to: found by its content once, by its address from then on. */
struct slot {
  const struct hwi_symbol *symbol;
  uint32_t module;
  uint32_t membership;
};

struct table {
  struct slot *slots; /* a power of two of them, at most half of them used */
  uint32_t slot_count, used;
};

struct builder {
  const struct hwi_report *report;
  const struct hwi_named_frames *frames;
  struct hwi_groups *groups;
  struct table by_address, by_content;
  struct hwi_amount *amounts; /* by frame */
  uint32_t *offsets;          /* by frame, into memberships; one more than there are frames */
  uint32_t *memberships;
  uint32_t membership_count, membership_room;
};

/* --- tables --- */

static uint64_t mix(uint64_t value)
{
  value ^= value >> 32;
  value *= UINT64_C(0x9e3779b97f4a7c15);
  return value ^ value >> 29;
}

static uint64_t hash_text(const char *text)
{
  uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
  for (; *text != '\0'; text++)
    hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
  return hash;
}

static bool same_text(const char *a, const char *b)
{
  return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* What makes two symbols one group. Where a name is missing, the module stands for it. */
static bool same_group(enum hwi_by by, const struct slot *a, const struct slot *b)
{
  const struct hwi_symbol *left = a->symbol, *right = b->symbol;
  switch (by) {
  case HWI_BY_FUNCTION:
    return a->module == b->module && same_text(left->function, right->function);
  case HWI_BY_FILE:
    return same_text(left->file, right->file) && (left->file != NULL || a->module == b->module);
  case HWI_BY_LINE:
    return same_text(left->file, right->file) && left->line == right->line &&
           (left->file != NULL || a->module == b->module);
  default:
    return a->module == b->module;
  }
}

static uint64_t hash_group(enum hwi_by by, const struct slot *slot)
{
  const char *name = by == HWI_BY_FUNCTION ? slot->symbol->function : slot->symbol->file;
  if (by == HWI_BY_MODULE || name == NULL)
    return mix(slot->module);
  uint64_t hash = hash_text(name);
  if (by == HWI_BY_FUNCTION)
    hash += slot->module;
  if (by == HWI_BY_LINE)
    hash += slot->symbol->line;
  return mix(hash);
}

static bool table_grow(struct table *table, const struct builder *builder, bool by_content)
{
  if (table->used * 2 < table->slot_count)
    return true;
  uint32_t slot_count = table->slot_count > 0 ? table->slot_count * 2 : SLOTS_MIN;
  struct slot *slots = calloc(slot_count, sizeof *slots);
  if (slots == NULL)
    return false;
  for (uint32_t i = 0; i < table->slot_count; i++) {
    const struct slot *slot = &table->slots[i];
    if (slot->symbol == NULL)
      continue;
    uint64_t hash = by_content ? hash_group(builder->report->options.by, slot) : mix((uintptr_t)slot->symbol);
    uint32_t at = (uint32_t)hash & (slot_count - 1);
    while (slots[at].symbol != NULL)
      at = (at + 1) & (slot_count - 1);
    slots[at] = *slot;
  }
  free(table->slots);
  table->slots = slots;
  table->slot_count = slot_count;
  return true;
}

static uint32_t add_group(struct hwi_groups *groups, const struct hwi_symbol *symbol, uint32_t module)
{
  if (groups->count == groups->room) {
    uint32_t room = groups->room > 0 ? groups->room * 2 : SLOTS_MIN;
    struct hwi_group *items = realloc(groups->items, room * sizeof *items);
    if (items == NULL)
      return UINT32_MAX;
    groups->items = items;
    groups->room = room;
  }
  groups->items[groups->count] = (struct hwi_group){.symbol = symbol, .module = module};
  return groups->count++;
}

/* The group of what `wanted` is, by content; UINT32_MAX: no memory. */
static uint32_t group_by_content(struct builder *builder, const struct slot *wanted)
{
  struct table *table = &builder->by_content;
  enum hwi_by by = builder->report->options.by;
  if (!table_grow(table, builder, true))
    return UINT32_MAX;
  uint32_t at = (uint32_t)hash_group(by, wanted) & (table->slot_count - 1);
  for (; table->slots[at].symbol != NULL; at = (at + 1) & (table->slot_count - 1)) {
    if (same_group(by, &table->slots[at], wanted))
      return table->slots[at].membership;
  }
  table->slots[at] = *wanted;
  table->slots[at].membership = add_group(builder->groups, wanted->symbol, wanted->module);
  table->used++;
  return table->slots[at].membership;
}

static uint32_t membership_of(struct builder *builder, const struct hwi_symbol *symbol, uint32_t module)
{
  struct table *table = &builder->by_address;
  if (!table_grow(table, builder, false))
    return UINT32_MAX;
  uint32_t at = (uint32_t)mix((uintptr_t)symbol) & (table->slot_count - 1);
  for (; table->slots[at].symbol != NULL; at = (at + 1) & (table->slot_count - 1)) {
    if (table->slots[at].symbol == symbol && table->slots[at].module == module)
      return table->slots[at].membership;
  }
  struct slot slot = {.symbol = symbol, .module = module};
  slot.membership = group_by_content(builder, &slot);
  if (slot.membership == UINT32_MAX)
    return UINT32_MAX;
  bool folds = !builder->report->options.all_frames;
  if (folds && symbol->function != NULL && hwi_patterns_match(hwi_rules_wrappers, symbol->function))
    slot.membership |= WRAPPER_BIT;
  if (folds && symbol->function == NULL && module != 0)
    slot.membership |= HIDDEN_BIT;
  table->slots[at] = slot;
  table->used++;
  return slot.membership;
}

/* --- the passes --- */

static bool append_membership(struct builder *builder, uint32_t membership)
{
  if (builder->membership_count == builder->membership_room) {
    uint32_t room = builder->membership_room > 0 ? builder->membership_room * 2 : SLOTS_MIN;
    uint32_t *memberships = realloc(builder->memberships, room * sizeof *memberships);
    if (memberships == NULL)
      return false;
    builder->memberships = memberships;
    builder->membership_room = room;
  }
  builder->memberships[builder->membership_count++] = membership;
  return true;
}

/* Names every frame that a selected stack goes through, and none else. */
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
      uint32_t membership = membership_of(builder, &symbols[i], profile->frames[frame].module);
      if (membership == UINT32_MAX || !append_membership(builder, membership))
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
    if (caller != 0) /* index 0 holds the stacks that are not known */
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

static void sum_totals(struct builder *builder)
{
  for (uint32_t frame = 1; frame < builder->report->profile->frame_count; frame++) {
    for (uint32_t i = builder->offsets[frame]; i < builder->offsets[frame + 1]; i++) {
      uint32_t group = builder->memberships[i] & GROUP_MASK;
      if (!occurs_above(builder, frame, i, group))
        hwi_amount_add(&builder->groups->items[group].total, &builder->amounts[frame]);
    }
  }
  hwi_amount_add(&builder->groups->items[UNKNOWN_GROUP].total, &builder->amounts[0]);
}

/* The group that asked for a stack's allocations, found as hwi_named_frames_trim finds it: of the innermost frame that is
 * no wrapper and no nameless helper of one, else of the outermost. */
static uint32_t self_group(const struct builder *builder, uint32_t stack)
{
  const struct hwi_profile *profile = builder->report->profile;
  uint32_t last = UNKNOWN_GROUP, found = UNKNOWN_GROUP, hidden = 0, hidden_module = 0;
  for (uint32_t frame = profile->stacks[stack].frame; frame != 0; frame = profile->frames[frame].caller) {
    for (uint32_t i = builder->offsets[frame]; i < builder->offsets[frame + 1]; i++) {
      uint32_t membership = builder->memberships[i];
      last = membership & GROUP_MASK;
      if (membership & WRAPPER_BIT) {
        hidden = 0; /* what was nameless before it were its helpers */
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

/* Groups that no stack goes through are dropped: that of unknown stacks, mostly. */
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
  if (builder->amounts == NULL || builder->offsets == NULL || add_group(builder->groups, NULL, 0) != UNKNOWN_GROUP)
    return false;
  sum_frames(builder, selection);
  if (!find_memberships(builder))
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
  free(builder.by_address.slots);
  free(builder.by_content.slots);
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
