/* blocks.h - the live blocks of an image, in as little time and memory as the totals need
 *
 * granule  16 bytes of addresses, as allocators align. No two blocks begin in one.
 * page     64 granules, each with the kind of the block that begins there: found without a search. A page without a block is
 *          there for the next that needs one.
 * region   16 pages of addresses, made as blocks begin in them. What a program does next is mostly near to what it did last.
 * kind     what is to be known of a block, shared by all that are alike: a program has millions of blocks and thousands of
 *          kinds. Kinds stay for good.
 * odd      a block that begins within a granule, which glibc never gives out: in a table of its own.
 */
#ifndef HWI_PROFILE_BLOCKS_H
#define HWI_PROFILE_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/live.h"

struct hwi_block {
  uint64_t size;
  uint32_t thread; /* that allocated it */
};

enum {
  HWI_GRANULE_BITS = 4,
  HWI_PAGE_GRANULES = 64,
  HWI_PAGE_BITS = 10,
  HWI_REGION_PAGES = 16,
  HWI_REGION_BITS = 14,
};

union hwi_block_page {
  uint32_t kinds[HWI_PAGE_GRANULES]; /* 0: no block */
  union hwi_block_page *next;        /* of one that nobody uses; its other kinds are 0 */
};

/* Invariant: counts[i] of pages[i]'s kinds are not 0, and it is NULL where that is none. */
struct hwi_region {
  uint64_t number; /* the addresses' upper bits */
  union hwi_block_page *pages[HWI_REGION_PAGES];
  uint8_t counts[HWI_REGION_PAGES];
};

/* All zero: no blocks. */
struct hwi_blocks {
  size_t count;
  struct hwi_region *regions;
  size_t region_count, region_capacity;
  uint32_t *region_slots; /* hash table of indices into regions, plus 1; 0: empty */
  size_t region_mask;
  size_t last_region; /* the one used last */
  union hwi_block_page **slabs;
  size_t slab_count, slab_capacity;
  union hwi_block_page *free_pages;
  struct hwi_live odd;     /* a block's number is its kind */
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
