/* group_table.c - which functions, source files, source lines or modules are one group
 *
 * A symbol is first looked up by the address of its structure, which does not move: most frames share theirs with
 * others. Only a symbol that is not found there is compared by its content.
 */
#include "report/content/group_table.h"

#include <stdlib.h>
#include <string.h>

#include "report/input/rules.h"
#include "symbols/store.h"

enum { SLOTS_MIN = 1024 };

/* --- when two symbols are one group --- */

static uint64_t mix(uint64_t value)
{
  value ^= value >> 32;
  value *= UINT64_C(0x9e3779b97f4a7c15);
  return value ^ value >> 29;
}

static bool same_text(const char *a, const char *b)
{
  return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_content(enum hwi_by by, const struct hwi_group_member *a, const struct hwi_group_member *b)
{
  const struct hwi_symbol *left = a->symbol, *right = b->symbol;
  switch (by) {
  case HWI_BY_FUNCTION:
    return a->module == b->module && same_text(left->function, right->function) && left->start == right->start;
  case HWI_BY_FILE:
    return same_text(left->file, right->file) && (left->file || a->module == b->module);
  case HWI_BY_LINE:
    return same_text(left->file, right->file) && left->line == right->line && (left->file || a->module == b->module);
  default:
    return a->module == b->module;
  }
}

static uint64_t hash_content(enum hwi_by by, const struct hwi_group_member *member)
{
  const char *name = by == HWI_BY_FUNCTION ? member->symbol->function : member->symbol->file;
  if (by == HWI_BY_MODULE || !name)
    return mix(member->module + (by == HWI_BY_FUNCTION ? member->symbol->start : 0));
  uint64_t hash = hwi_hash(name, strlen(name), 0);
  if (by == HWI_BY_FUNCTION)
    hash += member->module;
  if (by == HWI_BY_LINE)
    hash += member->symbol->line;
  return mix(hash);
}

static bool same_address(const struct hwi_group_member *a, const struct hwi_group_member *b)
{
  return a->symbol == b->symbol && a->module == b->module;
}

static uint64_t hash_address(const struct hwi_group_member *member)
{
  return mix((uintptr_t)member->symbol);
}

/* --- slots --- */

static uint32_t first_slot(const struct hwi_group_table *table, const struct hwi_group_slots *slots,
                           const struct hwi_group_member *member)
{
  uint64_t hash = slots == &table->by_content ? hash_content(table->by, member) : hash_address(member);
  return (uint32_t)hash & (slots->count - 1);
}

static bool grow_slots(struct hwi_group_table *table, struct hwi_group_slots *slots)
{
  if (slots->used * 2 < slots->count)
    return true;
  struct hwi_group_slots old = *slots;
  slots->count = old.count > 0 ? old.count * 2 : SLOTS_MIN;
  slots->members = calloc(slots->count, sizeof *slots->members);
  if (!slots->members) {
    *slots = old;
    return false;
  }
  for (uint32_t i = 0; i < old.count; i++) {
    if (old.members[i] == 0)
      continue;
    uint32_t at = first_slot(table, slots, &table->members[old.members[i]]);
    while (slots->members[at] != 0)
      at = (at + 1) & (slots->count - 1);
    slots->members[at] = old.members[i];
  }
  free(old.members);
  return true;
}

/* Returns the slot of a member equal to `wanted`, or the free slot for it. There must be a free slot. */
static uint32_t *find_slot(const struct hwi_group_table *table, struct hwi_group_slots *slots,
                           const struct hwi_group_member *wanted)
{
  uint32_t at = first_slot(table, slots, wanted);
  for (; slots->members[at] != 0; at = (at + 1) & (slots->count - 1)) {
    const struct hwi_group_member *member = &table->members[slots->members[at]];
    if (slots == &table->by_content ? same_content(table->by, member, wanted) : same_address(member, wanted))
      break;
  }
  return &slots->members[at];
}

static void fill_slot(struct hwi_group_slots *slots, uint32_t *slot, uint32_t member)
{
  *slot = member;
  slots->used++;
}

/* --- members --- */

static bool make_room(struct hwi_group_table *table)
{
  if (table->member_count < table->member_room)
    return true;
  uint32_t room = table->member_room > 0 ? table->member_room * 2 : SLOTS_MIN;
  struct hwi_group_member *members = realloc(table->members, room * sizeof *members);
  if (!members)
    return false;
  table->members = members;
  table->member_room = room;
  return true;
}

uint32_t hwi_group_table_find(struct hwi_group_table *table, const struct hwi_symbol *symbol, uint32_t module)
{
  if (!grow_slots(table, &table->by_address) || !grow_slots(table, &table->by_content) || !make_room(table))
    return 0;
  struct hwi_group_member wanted = {.symbol = symbol, .module = module};
  uint32_t *slot = find_slot(table, &table->by_address, &wanted);
  if (*slot != 0)
    return *slot;
  uint32_t number = table->member_count, *duplicates = find_slot(table, &table->by_content, &wanted);
  wanted.group = *duplicates != 0 ? table->members[*duplicates].group : table->group_count++;
  wanted.wraps = symbol->function && hwi_patterns_match(hwi_rules_wrappers, symbol->function);
  wanted.unnamed = !symbol->function && module != 0;
  wanted.vague = wanted.unnamed && (table->by != HWI_BY_FUNCTION || symbol->start == 0);
  table->members[table->member_count++] = wanted;
  fill_slot(&table->by_address, slot, number);
  if (*duplicates == 0)
    fill_slot(&table->by_content, duplicates, number);
  return number;
}

bool hwi_group_table_init(struct hwi_group_table *table, enum hwi_by by)
{
  *table = (struct hwi_group_table){.by = by};
  if (!make_room(table))
    return false;
  for (uint32_t group = HWI_GROUP_UNKNOWN; group <= HWI_GROUP_LEFT_OUT; group++)
    table->members[table->member_count++] = (struct hwi_group_member){.group = table->group_count++};
  return true;
}

void hwi_group_table_release(struct hwi_group_table *table)
{
  free(table->members);
  free(table->by_address.members);
  free(table->by_content.members);
  *table = (struct hwi_group_table){0};
}
