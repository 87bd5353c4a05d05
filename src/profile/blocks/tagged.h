/* tagged.h - a hash table of numbers of items that are stored elsewhere
 *
 * tag   the item's hash, stored next to its number: an item with another hash need not be read, which would be a cache
 *       miss, and the table grows without reading any item.
 */
#ifndef HWI_PROFILE_BLOCKS_TAGGED_H
#define HWI_PROFILE_BLOCKS_TAGGED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hwi_tagged_slot {
  uint32_t tag, number; /* number 0: empty */
};

/* Invariant: at most three quarters of the slots are used, and there is no empty slot between a number's home and its
 * slot. */
struct hwi_tagged {
  struct hwi_tagged_slot *slots; /* mask + 1 of them, a power of two */
  size_t mask, count;
};

bool hwi_tagged_init(struct hwi_tagged *table); /* false: no memory */
void hwi_tagged_release(struct hwi_tagged *table);

/* Items with the hash `tag` are searched from this slot on, up to an empty slot. */
static inline const struct hwi_tagged_slot *hwi_tagged_first(const struct hwi_tagged *table, uint32_t tag)
{
  return &table->slots[tag & table->mask];
}

static inline const struct hwi_tagged_slot *hwi_tagged_next(const struct hwi_tagged *table,
                                                            const struct hwi_tagged_slot *slot)
{
  return slot == &table->slots[table->mask] ? table->slots : slot + 1;
}

/* Adds an item that is not in the table yet; `number` is not 0. Returns false if there is no memory. */
bool hwi_tagged_add(struct hwi_tagged *table, uint32_t tag, uint32_t number);

#endif
