/* live.c - the table of live blocks
 *
 * It grows within its own memory. A block's home is the upper bits of a product, so that in a table twice as large, its
 * home is about twice as far from the start. The blocks are moved from the last slot to the first, each to a slot after
 * all that have not moved yet. For a few blocks this is impossible, because they are far from their homes or across the
 * table's end; these wait until all others have moved.
 */
#include "profile/blocks/live.h"

#include <stdlib.h>

#include "trace/grow.h"
#include "trace/table.h"

enum { FIRST_BITS = 10, HASH_BITS = 64 };

bool hwi_live_init(struct hwi_live *live)
{
  *live = (struct hwi_live){.mask = ((size_t)1 << FIRST_BITS) - 1, .shift = HASH_BITS - FIRST_BITS};
  live->slots = hwi_table_create((live->mask + 1) * sizeof *live->slots);
  return live->slots;
}

void hwi_live_release(struct hwi_live *live)
{
  hwi_table_release(live->slots, (live->mask + 1) * sizeof *live->slots);
  *live = (struct hwi_live){0};
}

/* Blocks that are temporarily in no slot. */
struct waiting {
  struct hwi_live_slot *blocks;
  size_t count, capacity;
};

/* Moves the block in `slot` to its place; no block in an earlier slot has moved yet. Returns false if there is no
 * memory. */
static bool move(struct hwi_live *live, struct hwi_live_slot *slot, struct waiting *waiting)
{
  const struct hwi_live_slot block = *slot, *end = live->slots + live->mask + 1;
  struct hwi_live_slot *to = live->slots + hwi_live_home(live, block.address);
  slot->address = 0;
  for (bool is_behind = to >= slot; is_behind && to < end; to++)
    if (!to->address) {
      *to = block;
      return true;
    }
  if (!hwi_grow((void **)&waiting->blocks, &waiting->capacity, waiting->count + 1, sizeof block))
    return false;
  waiting->blocks[waiting->count++] = block;
  return true;
}

bool hwi_live_double(struct hwi_live *live)
{
  struct waiting waiting = {0};
  const size_t slots = live->mask + 1;
  struct hwi_live_slot *larger = hwi_table_enlarge(live->slots, slots * sizeof *larger, 2 * slots * sizeof *larger);
  if (!larger)
    return false;
  live->slots = larger;
  live->mask = 2 * slots - 1;
  live->shift--;
  bool ok = true;
  for (size_t i = slots; ok && i-- > 0;)
    ok = !larger[i].address || move(live, &larger[i], &waiting);
  for (size_t i = 0; i < waiting.count; i++)
    *hwi_live_slot(live, waiting.blocks[i].address) = waiting.blocks[i];
  free(waiting.blocks);
  return ok;
}

void hwi_live_remove(struct hwi_live *live, struct hwi_live_slot *slot)
{
  size_t hole = (size_t)(slot - live->slots);
  for (size_t at = (hole + 1) & live->mask; live->slots[at].address; at = (at + 1) & live->mask) {
    size_t home = hwi_live_home(live, live->slots[at].address);
    if (((at - home) & live->mask) >= ((at - hole) & live->mask)) { /* its home is not after the hole */
      live->slots[hole] = live->slots[at];
      hole = at;
    }
  }
  live->slots[hole].address = 0;
  live->count--;
}
