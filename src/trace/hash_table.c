/* hash_table.c - the hash table of the tools: numbers of items that are stored elsewhere */
#include "trace/hash_table.h"

#include "trace/table.h"

enum { FIRST_SLOTS = 64 };

void hwi_hash_table_release(struct hwi_hash_table *table)
{
  hwi_table_release(table->slots, (table->mask + 1) * sizeof *table->slots);
  *table = (struct hwi_hash_table){0};
}

static void put(struct hwi_hash_table *table, struct hwi_hash_slot slot)
{
  size_t at = slot.tag & table->mask;
  while (table->slots[at].number)
    at = (at + 1) & table->mask;
  table->slots[at] = slot;
}

static bool grow(struct hwi_hash_table *table)
{
  size_t slots = table->slots ? (table->mask + 1) * 2 : FIRST_SLOTS;
  struct hwi_hash_table larger = {
      .slots = hwi_table_create(slots * sizeof *larger.slots), .mask = slots - 1, .count = table->count};
  if (!larger.slots)
    return false;
  for (size_t i = 0; table->slots && i <= table->mask; i++)
    if (table->slots[i].number)
      put(&larger, table->slots[i]);
  hwi_table_release(table->slots, (table->mask + 1) * sizeof *table->slots);
  *table = larger;
  return true;
}

bool hwi_hash_table_add(struct hwi_hash_table *table, uint32_t tag, uint32_t number)
{
  if (table->count >= (table->mask + 1) / 4 * 3 && !grow(table))
    return false;
  put(table, (struct hwi_hash_slot){tag, number});
  table->count++;
  return true;
}
