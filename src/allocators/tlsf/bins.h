/* bins.h - free blocks by size: two levels of classes, each with a bit map
 *
 * The first level, a row, is a power of two; the second divides it evenly into WORD_BITS bins. The bins are numbered
 * consecutively: a size whose highest set bit is `level` is in bin
 *
 *   (level - LINEAR_LOG2) * WORD_BITS + (size >> (level - WORD_BITS_LOG2))
 *
 * The last term runs from WORD_BITS to 2 * WORD_BITS - 1, so that a row's bins follow those of the row before. Sizes
 * below 2^LINEAR_LOG2 are treated as if that bit was their highest. So the lowest row has a bin for each multiple of
 * ALIGN. The next row has, too, and in both the formula is only a shift. If a size is not the smallest of its bin, only
 * the next bin, which may be the next row's first, is certain to have large enough blocks.
 *
 * A block is found by the first bit that is set from there on in the row's map; otherwise by the first higher row that
 * is not empty and the first bit of its map. The block found is at most 1/WORD_BITS larger than the smallest block that
 * fits, unless that one is in the size's own bin. A block of that bin may be too small, and only its first one is
 * tried: it is the one that was freed last, and programs ask for sizes that they have just freed.
 *
 * A bin is a doubly linked list, last in, first out. A block has a pointer to the link that leads to it, so that a
 * block in the middle can be removed without its bin, and without a special case for the first one.
 */
#ifndef HWI_ALLOCATORS_TLSF_BINS_H
#define HWI_ALLOCATORS_TLSF_BINS_H

#include "allocators/tlsf/layout.h"

#define HWI_HOT static inline __attribute__((always_inline))

#define FIRST_BIT ((size_t)1)
#define LINEAR_END ((size_t)2 << LINEAR_LOG2)

static inline unsigned lowest_bit(size_t map)
{
  return WORD == 8 ? (unsigned)__builtin_ctzll(map) : (unsigned)__builtin_ctz((unsigned)map);
}

static inline unsigned highest_bit(size_t map) /* with ^, compilers generate the one instruction for this */
{
  return WORD == 8 ? 63u ^ (unsigned)__builtin_clzll(map) : 31u ^ (unsigned)__builtin_clz((unsigned)map);
}

/* Returns true if the bin of `size` has blocks of one size only. */
static inline bool is_linear(size_t size)
{
  return __builtin_expect(size < LINEAR_END, 1);
}

/* Returns the bin of free blocks of this size. `size` may include flags. */
HWI_HOT size_t bin_of(size_t size)
{
  if (is_linear(size))
    return size >> ALIGN_LOG2;
  unsigned level = highest_bit(size);
  return ((size_t)(level - LINEAR_LOG2) << WORD_BITS_LOG2) + (size >> (level - WORD_BITS_LOG2));
}

/* Returns the first bin all of whose blocks have at least this size: the size's own bin, or the next. */
HWI_HOT size_t bin_of_all(size_t size)
{
  if (is_linear(size))
    return size >> ALIGN_LOG2;
  unsigned level = highest_bit(size);
  return ((size_t)(level - LINEAR_LOG2) << WORD_BITS_LOG2) + ((size - 1) >> (level - WORD_BITS_LOG2)) + 1;
}

HWI_HOT struct link *bin_link(const struct hw_pool *pool, size_t bin)
{
  return pool_bins(pool) + bin;
}

static inline size_t bin_of_link(const struct hw_pool *pool, const struct link *from)
{
  return (size_t)((uintptr_t)from - (uintptr_t)pool_bins(pool)) / sizeof *from;
}

/* All bits but one. Compilers generate a rotation for this. */
static inline size_t all_but(size_t bit)
{
  return ~FIRST_BIT << (bit & (WORD_BITS - 1)) | ~FIRST_BIT >> (-bit & (WORD_BITS - 1));
}

/* Sets, or below clears, the bits of a bin that is no longer empty, or has become empty. */
HWI_HOT void bin_mark(struct hw_pool *pool, size_t bin)
{
  size_t row = bin >> WORD_BITS_LOG2;
  pool->filled[row] |= FIRST_BIT << (bin & (WORD_BITS - 1));
  pool->rows_filled |= FIRST_BIT << row;
}

HWI_HOT void bin_unmark(struct hw_pool *pool, size_t bin)
{
  size_t row = bin >> WORD_BITS_LOG2, map = pool->filled[row] & all_but(bin);
  pool->filled[row] = map;
  if (!map)
    pool->rows_filled ^= FIRST_BIT << row;
}

/* Makes the block the first of its bin. */
HWI_HOT void bin_insert(struct hw_pool *pool, struct block *block, size_t bin)
{
  struct link *from = bin_link(pool, bin);
  struct block *next = from->to;
  block->next.to = next;
  block->from = from;
  from->to = block;
  if (next)
    next->from = &block->next;
  else
    bin_mark(pool, bin);
}

/* Replaces the first block of a bin by another one. Returns false, and changes nothing, in the same cases as
 * bin_remove. */
HWI_HOT bool bin_replace(struct link *from, const struct block *old, struct block *block)
{
  struct block *next = old->next.to;
  if (__builtin_expect(old->from != from, 0))
    return false;
  if (next) {
    if (__builtin_expect(next->from != &old->next, 0))
      return false;
    next->from = &block->next;
  }
  block->next.to = next;
  block->from = from;
  from->to = block;
  return true;
}

/* Removes the first block of a bin. Returns false, and changes nothing, in the same cases as bin_remove. */
HWI_HOT bool bin_pop(struct hw_pool *pool, struct link *from, const struct block *block, size_t bin)
{
  struct block *next = block->next.to;
  if (__builtin_expect(block->from != from, 0))
    return false;
  if (next) {
    if (__builtin_expect(next->from != &block->next, 0))
      return false;
    from->to = next;
    next->from = from;
  } else {
    from->to = NULL;
    bin_unmark(pool, bin);
  }
  return true;
}

/* Removes a free block from its bin. Returns false, and changes nothing, if its links do not point to links that point
 * back. The links are followed before they are verified: if the program wrote to freed memory, it may crash here
 * instead of getting a report. */
HWI_HOT bool bin_remove(struct hw_pool *pool, struct block *block)
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
  size_t bin = bin_of_link(pool, from);
  if (bin < pool->bin_count) /* otherwise `from` is the link of another block */
    bin_unmark(pool, bin);
  return true;
}

/* Returns the first bin from `bin` on that is not empty, or 0: no block is so small that it is in bin 0. */
HWI_HOT size_t bin_next(const struct hw_pool *pool, size_t bin)
{
  size_t row = bin >> WORD_BITS_LOG2;
  size_t map = pool->filled[row] >> (bin & (WORD_BITS - 1));
  if (__builtin_expect(map != 0, 1)) {
    bin += lowest_bit(map);
    if (!bin)
      __builtin_unreachable(); /* so that compilers omit a comparison with 0 */
    return bin;
  }
  size_t rows = pool->rows_filled & ~FIRST_BIT << row;
  if (!rows)
    return 0;
  unsigned higher = lowest_bit(rows);
  return (higher << WORD_BITS_LOG2) + lowest_bit(pool->filled[higher]);
}

/* Returns a bin whose first block has at least `size` bytes, or 0. */
HWI_HOT size_t bin_find(const struct hw_pool *pool, size_t size)
{
  if (is_linear(size))
    return bin_next(pool, size >> ALIGN_LOG2);
  size_t bin = bin_of(size);
  const struct block *first = bin_link(pool, bin)->to;
  if (first && first->head >= size << SEAL_BITS)
    return bin;
  return bin_next(pool, bin_of_all(size));
}

/* Returns the first block of the highest bin that is not empty, or NULL. */
static inline struct block *bin_highest(const struct hw_pool *pool)
{
  if (!pool->rows_filled)
    return NULL;
  size_t row = highest_bit(pool->rows_filled);
  return bin_link(pool, (row << WORD_BITS_LOG2) + highest_bit(pool->filled[row]))->to;
}

#endif
