/* numbering.c - maps keys of 64 bits to numbers without gaps */
#include "profile/blocks/numbering.h"

#include <stdlib.h>

#include "trace/grow.h"
#include "trace/table.h"

enum { FIRST_SLOTS = 64, HASH_SHIFT = 32 };

void hwi_numbering_release(struct hwi_numbering *numbering)
{
  free(numbering->keys);
  hwi_table_release(numbering->slots, (numbering->mask + 1) * sizeof *numbering->slots);
  *numbering = (struct hwi_numbering){0};
}

/* Returns the key's slot, or the empty slot where it belongs. */
static uint32_t *find_slot(const struct hwi_numbering *numbering, uint64_t key)
{
  size_t at = (key ^ key >> HASH_SHIFT) * UINT64_C(0x9E3779B97F4A7C15) >> HASH_SHIFT & numbering->mask;
  while (numbering->slots[at] && numbering->keys[numbering->slots[at] - 1] != key)
    at = (at + 1) & numbering->mask;
  return &numbering->slots[at];
}

uint32_t hwi_numbering_find(const struct hwi_numbering *numbering, uint64_t key)
{
  return numbering->slots ? *find_slot(numbering, key) - 1 : UINT32_MAX; /* an empty slot is 0 */
}

static bool grow_slots(struct hwi_numbering *numbering)
{
  size_t slots = numbering->slots ? (numbering->mask + 1) * 2 : FIRST_SLOTS;
  uint32_t *made = hwi_table_create(slots * sizeof *made);
  if (!made)
    return false;
  hwi_table_release(numbering->slots, (numbering->mask + 1) * sizeof *made);
  numbering->slots = made;
  numbering->mask = slots - 1;
  for (size_t i = 0; i < numbering->count; i++)
    *find_slot(numbering, numbering->keys[i]) = (uint32_t)i + 1;
  return true;
}

uint32_t hwi_numbering_of(struct hwi_numbering *numbering, uint64_t key)
{
  if (numbering->count * 2 >= numbering->mask && !grow_slots(numbering))
    return UINT32_MAX;
  uint32_t *slot = find_slot(numbering, key);
  if (*slot)
    return *slot - 1;
  if (numbering->count >= UINT32_MAX - 1 ||
      !hwi_grow((void **)&numbering->keys, &numbering->capacity, numbering->count + 1, sizeof *numbering->keys))
    return UINT32_MAX;
  numbering->keys[numbering->count++] = key;
  *slot = (uint32_t)numbering->count;
  return *slot - 1;
}
