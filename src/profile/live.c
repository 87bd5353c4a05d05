/* live.c - the table of live blocks
 *
 * It grows front to back in both tables, since a block's home is the upper bits of a product: what is moved is given back to the
 * system at once, and the larger table takes memory only as it fills, so that no moment has two of them.
 */
#include "profile/live.h"

#include <stdlib.h>

#include "profile/table.h"

enum { FIRST_BITS = 10, HASH_BITS = 64 };

bool hwi_live_init(struct hwi_live *live)
{
  *live = (struct hwi_live){.mask = ((size_t)1 << FIRST_BITS) - 1, .shift = HASH_BITS - FIRST_BITS};
  live->slots = calloc(live->mask + 1, sizeof *live->slots);
  return live->slots;
}

void hwi_live_release(struct hwi_live *live)
{
  free(live->slots);
  *live = (struct hwi_live){0};
}

bool hwi_live_double(struct hwi_live *live)
{
  struct hwi_live larger = {.mask = live->mask * 2 + 1, .shift = live->shift - 1, .count = live->count};
  larger.slots = hwi_table_create((larger.mask + 1) * sizeof *larger.slots);
  if (!larger.slots)
    return false;
  const size_t bytes = (live->mask + 1) * sizeof *live->slots;
  size_t given_back = 0;
  for (size_t i = 0; i <= live->mask; i++) {
    if (live->slots[i].address)
      *hwi_live_slot(&larger, live->slots[i].address) = live->slots[i];
    given_back = hwi_table_give_back(live->slots, bytes, given_back, i * sizeof *live->slots);
  }
  free(live->slots);
  *live = larger;
  return true;
}

void hwi_live_remove(struct hwi_live *live, struct hwi_live_slot *slot)
{
  size_t hole = (size_t)(slot - live->slots);
  for (size_t at = (hole + 1) & live->mask; live->slots[at].address; at = (at + 1) & live->mask) {
    size_t home = hwi_live_home(live, live->slots[at].address);
    if (((at - home) & live->mask) >= ((at - hole) & live->mask)) { /* its home is not behind the hole */
      live->slots[hole] = live->slots[at];
      hole = at;
    }
  }
  live->slots[hole].address = 0;
  live->count--;
}
