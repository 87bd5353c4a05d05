/* group_table.c - the groups of equal functions, source files, source lines or modules
 *
 * A symbol is first looked up by the address of its structure, which does not move: most frames share theirs with
 * others. Only a symbol that is not found there is compared by its content.
 */
#include "report/content/group_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "report/input/rules.h"
#include "trace/grow.h"

/* --- when two symbols are one group --- */

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

static uint32_t hash_content(enum hwi_by by, const struct hwi_group_member *member)
{
  const struct hwi_symbol *symbol = member->symbol;
  const char *name = by == HWI_BY_MODULE ? NULL : by == HWI_BY_FUNCTION ? symbol->function : symbol->file;
  uint64_t hash = name ? hwi_hash_bytes(name, strlen(name), 0) : 0;
  if (by == HWI_BY_FUNCTION || !name)
    hash += member->module;
  return hwi_hash_pair(hash, by == HWI_BY_FUNCTION ? symbol->start : by == HWI_BY_LINE ? symbol->line : 0);
}

/* --- members --- */

/* Returns the member of the same group, or 0 if there is none. */
static uint32_t find_duplicate(const struct hwi_group_table *table, uint32_t tag, const struct hwi_group_member *wanted)
{
  const struct hwi_hash_slot *at = hwi_hash_table_first(&table->by_content, tag);
  while (at->number && !same_content(table->by, &table->members[at->number], wanted))
    at = hwi_hash_table_next(&table->by_content, at);
  return at->number;
}

uint32_t hwi_group_table_find(struct hwi_group_table *table, const struct hwi_symbol *symbol, uint32_t module)
{
  uint32_t number = hwi_numbering_of(&table->by_address, (uintptr_t)symbol, module);
  if (number == 0)
    return 0;
  number += HWI_GROUP_LEFT_OUT; /* the members without a symbol come first */
  if (number < table->member_count)
    return number;
  if (!hwi_grow((void **)&table->members, &table->member_room, (size_t)number + 1, sizeof *table->members))
    return 0;
  struct hwi_group_member *made = &table->members[number];
  *made = (struct hwi_group_member){.symbol = symbol, .module = module};
  uint32_t tag = hash_content(table->by, made), duplicate = find_duplicate(table, tag, made);
  if (duplicate == 0 && !hwi_hash_table_add(&table->by_content, tag, number))
    return 0;
  made->group = duplicate != 0 ? table->members[duplicate].group : table->group_count++;
  made->wraps = symbol->function && hwi_patterns_match(hwi_rules_wrappers, symbol->function);
  made->unnamed = !symbol->function && module != 0;
  made->vague = made->unnamed && (table->by != HWI_BY_FUNCTION || symbol->start == 0);
  table->member_count = number + 1;
  return number;
}

bool hwi_group_table_init(struct hwi_group_table *table, enum hwi_by by)
{
  *table = (struct hwi_group_table){.by = by};
  if (!hwi_grow((void **)&table->members, &table->member_room, HWI_GROUP_LEFT_OUT + 1, sizeof *table->members))
    return false;
  for (uint32_t group = HWI_GROUP_UNKNOWN; group <= HWI_GROUP_LEFT_OUT; group++)
    table->members[table->member_count++] = (struct hwi_group_member){.group = table->group_count++};
  return true;
}

void hwi_group_table_release(struct hwi_group_table *table)
{
  free(table->members);
  hwi_numbering_release(&table->by_address);
  hwi_hash_table_release(&table->by_content);
  *table = (struct hwi_group_table){0};
}
