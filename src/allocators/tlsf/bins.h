/* bins.h - free blocks by size: two levels of classes, each with a bit map
 *
 * The first level, a row, is a power of two; the second divides it evenly into WORD_BITS bins. Number the bins through:
 * a size whose highest set bit is `level` lies in bin
 *
 *   (level - LINEAR_LOG2) * WORD_BITS + (size >> (level - WORD_BITS_LOG2))
 *
 * The last term runs from WORD_BITS to 2 * WORD_BITS - 1, so that a row's bins follow those of the row before. Sizes below
 * 2^LINEAR_LOG2 are treated as if that bit was their highest: the lowest row has a bin for each multiple of ALIGN, and so has
 * the next, where nothing but a shift is left of the formula. A size that does not begin its bin is only sure to be met by the
 * next one, which may be the next row's first.
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

#define HWI_HOT static inline __attribute__((always_inline))

#define FIRST_BIT ((size_t)1)
#define LINEAR_END ((size_t)2 << LINEAR_LOG2)

static inline unsigned lowest_bit(size_t map)
{
  return WORD == 8 ? (unsigned)__builtin_ctzll(map) : (unsigned)__builtin_ctz((unsigned)map);
}

static inline unsigned highest_bit(size_t map) /* with ^, compilers see the one instruction that there is for it */
{
  return WORD == 8 ? 63u ^ (unsigned)__builtin_clzll(map) : 31u ^ (unsigned)__builtin_clz((unsigned)map);
}

/* Each multiple of ALIGN has a bin of its own. */
static inline bool is_linear(size_t size)
{
  return __builtin_expect(size < LINEAR_END, 1);
}

/* The bin of free blocks of this size, which may have its flags beside it. */
HWI_HOT size_t bin_of(size_t size)
{
  if (is_linear(size))
    return size >> ALIGN_LOG2;
  unsigned level = highest_bit(size);
  return ((size_t)(level - LINEAR_LOG2) << WORD_BITS_LOG2) + (size >> (level - WORD_BITS_LOG2));
}

/* The first bin whose blocks all have at least this size: its own, or the next. */
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

/* All bits but one: a rotation, which compilers see in it. */
static inline size_t all_but(size_t bit)
{
  return ~FIRST_BIT << (bit & (WORD_BITS - 1)) | ~FIRST_BIT >> (-bit & (WORD_BITS - 1));
}

/* The bits of a bin that is no longer empty, or has become so. */
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

/* Puts the block in front of its bin. */
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

/* Puts a block in the place of the first one of a bin. False, and nothing is changed: as bin_remove. */
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

/* Takes the first block out of a bin. False, and nothing is changed: as bin_remove. */
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

/* Takes a free block out of its bin. False, and nothing is changed: its links do not lead to what leads back. A pointer that was
 * written there is followed, though: whoever writes to freed memory may crash here rather than be told. */
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
  if (bin < pool->bin_count) /* else the last of several */
    bin_unmark(pool, bin);
  return true;
}

/* The first bin that is not empty from `bin` on; or 0, in which no block is, since none is that small. */
HWI_HOT size_t bin_next(const struct hw_pool *pool, size_t bin)
{
  size_t row = bin >> WORD_BITS_LOG2;
  size_t map = pool->filled[row] >> (bin & (WORD_BITS - 1));
  if (__builtin_expect(map != 0, 1)) {
    bin += lowest_bit(map);
    if (!bin)
      __builtin_unreachable(); /* what compilers would look at again */
    return bin;
  }
  size_t rows = pool->rows_filled & ~FIRST_BIT << row;
  if (!rows)
    return 0;
  unsigned higher = lowest_bit(rows);
  return (higher << WORD_BITS_LOG2) + lowest_bit(pool->filled[higher]);
}

/* The bin whose first block has at least `size` bytes; or 0. */
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

/* The first block of the highest bin that is not empty; or NULL. */
static inline struct block *bin_highest(const struct hw_pool *pool)
{
  if (!pool->rows_filled)
    return NULL;
  size_t row = highest_bit(pool->rows_filled);
  return bin_link(pool, (row << WORD_BITS_LOG2) + highest_bit(pool->filled[row]))->to;
}

#endif
