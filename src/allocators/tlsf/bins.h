/* bins.h - free blocks by size: two levels of classes, each with a bit map
 *
 * The first level, a row, is a power of two; the second divides it evenly into WORD_BITS bins. Number the bins through:
 * a size whose highest set bit is `level` lies in bin
 *
 *   (level - LINEAR_LOG2) * WORD_BITS + (size >> (level - WORD_BITS_LOG2))
 *
 * The last term runs from WORD_BITS to 2 * WORD_BITS - 1, so that a row's bins follow those of the row before. Sizes below
 * 2^LINEAR_LOG2 are treated as if that bit was their highest: the lowest row has a bin for each multiple of ALIGN, and so has
 * the next. Rounding the size up to the next bin's start before the shift gives the first bin in which every block is large
 * enough, and a carry ends in the next row's first bin by itself.
 *
 * To find a block is then: the first bit set from there on in the row's map, else the first row that is not empty above and the
 * first bit of its map. What is found is at most 1/WORD_BITS larger than the smallest block that fits, unless that one is
 * in the size's own bin, where a block may be large enough or not: of these the first is tried, since it is the one that was
 * freed last, and programs ask for the sizes that they have just freed.
 *
 * A bin is a list in both directions, last in, first out. A block points to what points to it, so that taking one out of the
 * middle needs neither a special case for the first nor its bin.
 */
#ifndef HWI_ALLOCATORS_TLSF_BINS_H
#define HWI_ALLOCATORS_TLSF_BINS_H

#include "allocators/tlsf/layout.h"

#define FIRST_BIT ((size_t)1)

static inline size_t lowest_bit(size_t map)
{
  return WORD == 8 ? (size_t)__builtin_ctzll(map) : (size_t)__builtin_ctz((unsigned)map);
}

static inline size_t highest_bit(size_t map) /* with ^, compilers see the one instruction that there is for it */
{
  return WORD == 8 ? 63u ^ (size_t)__builtin_clzll(map) : 31u ^ (size_t)__builtin_clz((unsigned)map);
}

/* The bin of free blocks of this size. */
static inline size_t bin_of(size_t size)
{
  size_t level = highest_bit(size | FIRST_BIT << LINEAR_LOG2);
  return ((level - LINEAR_LOG2) << WORD_BITS_LOG2) + (size >> (level - WORD_BITS_LOG2));
}

/* The first bin whose blocks are all of this size at least. */
static inline size_t bin_from(size_t size)
{
  size_t level = highest_bit(size | FIRST_BIT << LINEAR_LOG2);
  size_t rounding = (FIRST_BIT << (level - WORD_BITS_LOG2)) - 1;
  return ((level - LINEAR_LOG2) << WORD_BITS_LOG2) + ((size + rounding) >> (level - WORD_BITS_LOG2));
}

static inline struct link *bin_link(const struct hw_pool *pool, size_t bin)
{
  return pool_bins(pool) + bin;
}

/* Puts the block in front of its bin. */
static inline void bin_insert(struct hw_pool *pool, struct block *block, size_t size)
{
  size_t bin = bin_of(size), row = bin >> WORD_BITS_LOG2;
  struct link *from = bin_link(pool, bin);
  struct block *next = from->to;
  block->next.to = next;
  block->from = from;
  from->to = block;
  pool->filled[row] |= FIRST_BIT << (bin & (WORD_BITS - 1));
  pool->rows_filled |= FIRST_BIT << row;
  if (next)
    next->from = &block->next;
}

/* Takes a free block out of its bin. False, and nothing is changed: its links do not lead to what leads back. A pointer that was
 * written there is followed, though: whoever writes to freed memory may crash here rather than be told. */
static inline bool bin_remove(struct hw_pool *pool, struct block *block)
{
  struct link *from = block->from;
  struct block *next = block->next.to;
  if (__builtin_expect(from->to != block, 0))
    return false;
  if (next) {
    if (__builtin_expect(next->from != &block->next, 0))
      return false;
    next->from = from;
    from->to = next;
    return true;
  }
  from->to = NULL;
  size_t bin = (size_t)((uintptr_t)from - (uintptr_t)pool_bins(pool)) / sizeof(struct link);
  if (bin >= pool->bin_count) /* the last of several */
    return true;
  size_t row = bin >> WORD_BITS_LOG2;
  pool->filled[row] &= ~(FIRST_BIT << (bin & (WORD_BITS - 1)));
  if (!pool->filled[row])
    pool->rows_filled &= ~(FIRST_BIT << row);
  return true;
}

/* A free block of at least `size`, which stays in its bin; or NULL. */
static inline struct block *bin_find(const struct hw_pool *pool, size_t size)
{
  size_t own = bin_of(size), bin = bin_from(size), row = bin >> WORD_BITS_LOG2;
  if (own != bin) {
    struct block *first = bin_link(pool, own)->to;
    if (first && block_size(first) >= size)
      return first;
  }
  size_t map = pool->filled[row] & (~(size_t)0 << (bin & (WORD_BITS - 1)));
  if (!map) {
    size_t rows = pool->rows_filled & (~FIRST_BIT << row);
    if (!rows)
      return NULL;
    row = lowest_bit(rows);
    map = pool->filled[row];
  }
  return bin_link(pool, (row << WORD_BITS_LOG2) + lowest_bit(map))->to;
}

/* The first block of the highest bin that is not empty; or NULL. */
static inline struct block *bin_highest(const struct hw_pool *pool)
{
  if (!pool->rows_filled)
    return NULL;
  size_t row = highest_bit(pool->rows_filled);
  return bin_link(pool, (row << WORD_BITS_LOG2) + highest_bit(pool->filled[row]))->to;
}

#endif
