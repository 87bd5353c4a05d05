/* blocks.h - the live blocks of an image, with as little time and memory as the totals need
 *
 * granule  16 bytes of addresses, the alignment of allocators. At most one block begins in a granule.
 * page     64 granules, each with the kind of the block that begins there, so that no search is needed. A page without
 *          blocks is reused for the next region that needs one.
 * region   16 pages of addresses, made when blocks begin in them. A program's next event is usually near its last one.
 * kind     what is known about a block, shared by all equal blocks: a program has millions of blocks and thousands of
 *          kinds. Kinds are never removed.
 * odd      a block that does not begin at the start of a granule; glibc never allocates one. Odd blocks have their own
 *          table.
 *
 * The table of live.h would do for all blocks, but it needs twice the memory and time where a program has many small
 * blocks next to each other, and this is what is counted while a program runs. Where blocks are far apart, it is the
 * smaller one.
 */
#ifndef HWI_PROFILE_BLOCKS_BLOCKS_H
#define HWI_PROFILE_BLOCKS_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/blocks/live.h"

struct hwi_block {
  uint64_t size;
  uint32_t thread; /* that allocated it */
  uint32_t weight; /* see sample.h; 1: the events are all there */
};

enum {
  HWI_GRANULE_BITS = 4,
  HWI_BLOCK_PAGE_GRANULES = 64,
  HWI_BLOCK_PAGE_BITS = 10,
  HWI_REGION_PAGES = 16,
  HWI_REGION_BITS = 14,
};

union hwi_block_page {
  uint32_t kinds[HWI_BLOCK_PAGE_GRANULES]; /* 0: no block */
  union hwi_block_page *next;              /* of an unused page; its other kinds are 0 */
};

/* Invariant: counts[i] of the kinds of pages[i] are not 0; if counts[i] is 0, pages[i] is NULL. */
struct hwi_block_region {
  uint64_t number; /* the addresses' upper bits */
  union hwi_block_page *pages[HWI_REGION_PAGES];
  uint8_t counts[HWI_REGION_PAGES];
};

/* All zero: no blocks. */
struct hwi_blocks {
  size_t count;
  struct hwi_block_region *regions;
  size_t region_count, region_capacity;
  uint32_t *region_slots; /* hash table of indices into regions, plus 1; 0: empty */
  size_t region_mask;
  size_t last_region; /* the region used last */
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

/* Makes `block` live at `address`. *replaced is the block that was live there before, or NULL; it is valid until the
 * next call. Returns false if there is no memory. */
bool hwi_blocks_put(struct hwi_blocks *blocks, uint64_t address, const struct hwi_block *block,
                    const struct hwi_block **replaced);

/* Removes the block at `address` and returns it, valid until the next call. Returns NULL if there is none. */
const struct hwi_block *hwi_blocks_take(struct hwi_blocks *blocks, uint64_t address);

bool hwi_blocks_has(struct hwi_blocks *blocks, uint64_t address);

#endif
