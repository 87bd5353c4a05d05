/* tagged.c - a hash table of numbers of items that are stored elsewhere */
#include "profile/blocks/tagged.h"

#include "trace/table.h"

enum { FIRST_SLOTS = 1024 };

bool hwi_tagged_init(struct hwi_tagged *table)
{
  *table = (struct hwi_tagged){.slots = hwi_table_create(FIRST_SLOTS * sizeof *table->slots), .mask = FIRST_SLOTS - 1};
  return table->slots;
}

void hwi_tagged_release(struct hwi_tagged *table)
{
  hwi_table_release(table->slots, (table->mask + 1) * sizeof *table->slots);
  *table = (struct hwi_tagged){0};
}

static void put(struct hwi_tagged *table, struct hwi_tagged_slot slot)
{
  size_t at = slot.tag & table->mask;
  while (table->slots[at].number)
    at = (at + 1) & table->mask;
  table->slots[at] = slot;
}

static bool grow(struct hwi_tagged *table)
{
  size_t slots = (table->mask + 1) * 2;
  struct hwi_tagged larger = {
      .slots = hwi_table_create(slots * sizeof *larger.slots), .mask = slots - 1, .count = table->count};
  if (!larger.slots)
    return false;
  for (size_t i = 0; i <= table->mask; i++)
    if (table->slots[i].number)
      put(&larger, table->slots[i]);
  hwi_table_release(table->slots, (table->mask + 1) * sizeof *table->slots);
  *table = larger;
  return true;
}

bool hwi_tagged_add(struct hwi_tagged *table, uint32_t tag, uint32_t number)
{
  if (table->count >= (table->mask + 1) / 4 * 3 && !grow(table))
    return false;
  put(table, (struct hwi_tagged_slot){tag, number});
  table->count++;
  return true;
}
