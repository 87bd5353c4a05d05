/* hash_table.h - the hash table of the tools: numbers of items that are stored elsewhere
 *
 * Open addressing with linear probing; nothing is removed. Two tables build on it: numbering.h for pairs of numbers,
 * store.h for strings. The live blocks (profile/blocks/) and the packer (trace/pack/) have tables of their own.
 *
 * tag   the item's hash, stored next to its number: an item with another hash need not be read, which would be a cache
 *       miss, and the table grows without reading any item. A key of 32 bits can be its own tag.
 */
#ifndef HWI_TRACE_HASH_TABLE_H
#define HWI_TRACE_HASH_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hwi_hash_slot {
  uint32_t tag, number; /* number 0: empty */
};

/* All zero: no items. Invariant: at most three quarters of the slots are used, and there is no empty slot between a
 * number's home and its slot. */
struct hwi_hash_table {
  struct hwi_hash_slot *slots; /* mask + 1 of them, a power of two */
  size_t mask, count;
};

void hwi_hash_table_release(struct hwi_hash_table *table);

static inline const struct hwi_hash_slot *hwi_hash_table_search(const struct hwi_hash_table *table,
                                                                const struct hwi_hash_slot *slot, uint32_t tag)
{
  while (slot->tag != tag && slot->number)
    slot = slot == &table->slots[table->mask] ? table->slots : slot + 1;
  return slot;
}

/* Returns the first slot with the tag. Its number is 0 if there is none. */
static inline const struct hwi_hash_slot *hwi_hash_table_first(const struct hwi_hash_table *table, uint32_t tag)
{
  static const struct hwi_hash_slot none;
  return table->slots ? hwi_hash_table_search(table, &table->slots[tag & table->mask], tag) : &none;
}

/* Returns the next slot with the tag of `slot`, likewise. */
static inline const struct hwi_hash_slot *hwi_hash_table_next(const struct hwi_hash_table *table,
                                                              const struct hwi_hash_slot *slot)
{
  return hwi_hash_table_search(table, slot == &table->slots[table->mask] ? table->slots : slot + 1, slot->tag);
}

/* Adds an item that is not in the table yet; `number` is not 0. Returns false if there is no memory; then nothing is
 * changed. */
bool hwi_hash_table_add(struct hwi_hash_table *table, uint32_t tag, uint32_t number);

#endif
