/* blocks.h - the live blocks of an image, in as little memory as the totals need
 *
 * region  64 KiB of addresses, with a table of its own: 8 bytes a slot, up to three quarters of them full. What a program
 *         does next is mostly near to what it did last, so that its table is in the cache; and tables grow one by one, so
 *         that no moment has two copies of all.
 * kind    what is to be known of a block, shared by all that are alike: a program has millions of blocks and thousands of
 *         kinds. Kinds stay for good.
 */
#ifndef HWI_PROFILE_BLOCKS_H
#define HWI_PROFILE_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hwi_block {
  uint64_t size;
  uint32_t thread; /* that allocated it */
};

enum { HWI_REGION_BITS = 16 };

struct hwi_region_slot {
  uint32_t offset; /* of the address in the region */
  uint32_t kind;   /* 0: empty */
};

/* Invariant: count <= (mask + 1) / 4 * 3, and no empty slot lies between a block's home and its slot. */
struct hwi_region {
  uint64_t number;               /* the addresses' upper bits */
  struct hwi_region_slot *slots; /* mask + 1 of them, a power of two */
  uint32_t mask, count;
};

/* All zero: no blocks. */
struct hwi_blocks {
  size_t count;
  struct hwi_region *regions;
  size_t region_count, region_capacity;
  uint32_t *region_slots; /* hash table of indices into regions, plus 1; 0: empty */
  size_t region_mask;
  size_t last_region;      /* the one used last */
  struct hwi_block *kinds; /* [1, kind_count) */
  size_t kind_count, kind_capacity;
  uint32_t *kind_slots; /* hash table of kinds; 0: empty */
  size_t kind_mask;
};

void hwi_blocks_release(struct hwi_blocks *blocks);

/* `block` is live at `address` from now on. *replaced is the one that was before, NULL: none; it is valid until the next call.
 * False: no memory. */
bool hwi_blocks_put(struct hwi_blocks *blocks, uint64_t address, const struct hwi_block *block,
                    const struct hwi_block **replaced);

/* Removes the block at `address` and returns it, valid until the next call. NULL: none is there. */
const struct hwi_block *hwi_blocks_take(struct hwi_blocks *blocks, uint64_t address);

bool hwi_blocks_has(struct hwi_blocks *blocks, uint64_t address);

#endif
