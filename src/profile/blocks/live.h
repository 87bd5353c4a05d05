/* live.h - the table of live blocks: address -> the block's number
 *
 * Open addressing with linear probing, at most three quarters full. Removal shifts the following slots back, so that
 * there are no tombstones, and a program that allocates and frees forever keeps a small table. Address 0 marks an empty
 * slot.
 *
 * group    consecutive slots for the addresses of 512 bytes, one slot for every 32 bytes. Blocks that are allocated or
 *          freed one after the other are usually close together, and then need no further cache line.
 */
#ifndef HWI_PROFILE_BLOCKS_LIVE_H
#define HWI_PROFILE_BLOCKS_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HWI_LIVE_STEP_BITS = 5, HWI_LIVE_GROUP_BITS = 4, HWI_LIVE_GROUP = 1 << HWI_LIVE_GROUP_BITS };

struct hwi_live_slot {
  uint64_t address;
  uint32_t number;
  uint32_t weight; /* of a block of an image: see sample.h */
};

/* Invariant: count <= (mask + 1) / 4 * 3, and there is no empty slot between a block's home and its slot. */
struct hwi_live {
  struct hwi_live_slot *slots; /* mask + 1 of them, a power of two */
  size_t mask, count;
  unsigned shift;
};

bool hwi_live_init(struct hwi_live *live); /* false: no memory */
void hwi_live_release(struct hwi_live *live);

/* Makes the table twice as large. Returns false if there is no memory; then the table can only be released. */
bool hwi_live_double(struct hwi_live *live);

static inline bool hwi_live_has_room(const struct hwi_live *live)
{
  return live->count < (live->mask + 1) / 4 * 3; /* touching new memory costs more than a probe step */
}

/* Makes room for one more block. Returns false if there is no memory, as above. */
static inline bool hwi_live_grow(struct hwi_live *live)
{
  return hwi_live_has_room(live) || hwi_live_double(live);
}

static inline size_t hwi_live_home(const struct hwi_live *live, uint64_t address)
{
  uint64_t group = address >> (HWI_LIVE_STEP_BITS + HWI_LIVE_GROUP_BITS);
  size_t first = (group * UINT64_C(0x9E3779B97F4A7C15) >> live->shift) & ~(size_t)(HWI_LIVE_GROUP - 1);
  return first | (address >> HWI_LIVE_STEP_BITS & (HWI_LIVE_GROUP - 1));
}

/* Returns the block's slot, or the empty slot where it belongs. */
static inline struct hwi_live_slot *hwi_live_slot(const struct hwi_live *live, uint64_t address)
{
  size_t at = hwi_live_home(live, address);
  while (live->slots[at].address && live->slots[at].address != address)
    at = (at + 1) & live->mask;
  return &live->slots[at];
}

/* Prefetches the slot of an address that will be looked up soon. Forced inline: GCC treats a function that only
 * prefetches as one without effect. */
static inline __attribute__((always_inline)) void hwi_live_fetch(const struct hwi_live *live, uint64_t address)
{
  __builtin_prefetch(&live->slots[hwi_live_home(live, address)], 1);
}

/* Empties an occupied slot. The contents of other slots may move. */
void hwi_live_remove(struct hwi_live *live, struct hwi_live_slot *slot);

#endif
