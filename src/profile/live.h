/* live.h - the table of live blocks: address -> the cell that counts the block
 *
 * Open addressing with linear probing at no more than half full; removal shifts the followers back, so that there are no
 * tombstones and a program that allocates and frees for ever keeps a small table. Address 0 marks an empty slot.
 */
#ifndef HWI_PROFILE_LIVE_H
#define HWI_PROFILE_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hwi_live_slot {
  uint64_t address;
  uint64_t born_ns; /* of the run */
  uint32_t cell;
};

/* Invariant: count <= (mask + 1) / 2, and no empty slot lies between a block's home and its slot. */
struct hwi_live {
  struct hwi_live_slot *slots; /* mask + 1 of them, a power of two */
  size_t mask, count;
  unsigned shift;
};

bool hwi_live_init(struct hwi_live *live); /* false: no memory */
void hwi_live_release(struct hwi_live *live);

/* Makes room for one more block. False: no memory. */
bool hwi_live_grow(struct hwi_live *live);

static inline size_t hwi_live_home(const struct hwi_live *live, uint64_t address)
{
  return (address >> 4 ^ address << 40) * UINT64_C(0x9E3779B97F4A7C15) >> live->shift;
}

/* The block's slot, or the empty one where it belongs. */
static inline struct hwi_live_slot *hwi_live_slot(const struct hwi_live *live, uint64_t address)
{
  size_t at = hwi_live_home(live, address);
  while (live->slots[at].address && live->slots[at].address != address)
    at = (at + 1) & live->mask;
  return &live->slots[at];
}

/* Empties an occupied slot. Other slots' contents may move. */
void hwi_live_remove(struct hwi_live *live, struct hwi_live_slot *slot);

#endif
