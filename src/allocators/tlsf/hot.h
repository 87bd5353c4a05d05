/* hot.h - giving a block out and taking it back, as code to be put in line
 *
 * pool.c makes the public functions of these two, and finds out what was wrong where one says no; the heap of a process has them
 * between taking its lock and giving it back, so that an entry point is one piece of code. Each first looks at all that it is going
 * to rely on, then changes it: where it says no, nothing was done.
 */
#ifndef HWI_ALLOCATORS_TLSF_HOT_H
#define HWI_ALLOCATORS_TLSF_HOT_H

#include "allocators/tlsf/bins.h"
#include "allocators/tlsf/internal.h"
#include "allocators/tlsf/layout.h"

#define HWI_HOT static inline __attribute__((always_inline))
#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* --- what an operation relies on --- */

/* It can be followed: it leads into the pool's tables, or into a region. */
static inline bool is_inside(const struct hw_pool *pool, const void *at)
{
  return LIKELY(pool_has_near(pool, at, WORD_LOG2)) || ((uintptr_t)at % WORD == 0 && pool_region(pool, at));
}

/* The block, in its bin until now, has the header of a free one. */
static inline bool has_free_head(const struct hw_pool *pool, const struct block *block)
{
  if (UNLIKELY(!block_is_free(block) || !head_is_sealed(pool, block, block->head)))
    return false;
  return IS_SEALED || (block_size(block) >= MIN_BLOCK && is_inside(pool, block_at(block, block_size(block))));
}

/* The footer in front of a block, which has AFTER_FREE, leads to the header of a free block of just that size: no seal is needed. */
static inline bool front_is_sound(const struct hw_pool *pool, const struct block *block)
{
  const struct block *front = block_in_front(block);
  return is_inside(pool, front) && head_word(front->head) == (((uintptr_t)block - (uintptr_t)front) | BLOCK_FREE);
}

/* The header of a block may lie in front of this payload. */
HWI_HOT bool is_payload(const struct hw_pool *pool, const void *payload)
{
  const struct block *block = block_of_payload(payload);
  const void *unit =
      block_at(block, (size_t)WORD - ALIGN); /* not the pool's first, before which there may be nothing */
  return LIKELY(pool_has_near(pool, unit, ALIGN_LOG2)) || ((uintptr_t)payload % ALIGN == 0 && pool_region(pool, block));
}

/* `head`, without AFTER_FREE, is that of a used block, and the header behind it is sound. */
HWI_HOT bool is_used_head(const struct hw_pool *pool, const struct block *block, size_t head)
{
  size_t size = head_word(head);
  if (UNLIKELY(!head_is_sealed(pool, block, head) || size & BLOCK_FLAGS))
    return false;
  const struct block *behind = block_at(block, size);
  if (!IS_SEALED && (size < MIN_BLOCK || !is_inside(pool, behind)))
    return false;
  return LIKELY(head_is_sealed(pool, behind, behind->head));
}

/* The size of the used block with this payload; 0: it is none. */
static inline size_t used_size(const struct hw_pool *pool, const void *payload)
{
  const struct block *block = block_of_payload(payload);
  if (!is_payload(pool, payload) || !is_used_head(pool, block, head_without_after_free(block->head)))
    return 0;
  return block_size(block);
}

/* --- taking --- */

static inline void count_used(struct hw_pool *pool, size_t size)
{
  size_t below;
  if (__builtin_sub_overflow(pool->below_peak_bytes, size, &below)) {
    pool->peak_bytes -= below;
    below = 0;
  }
  pool->below_peak_bytes = below;
}

/* Makes `size` bytes from `block` on a free block. What is in front is used, and what is behind knows already. */
HWI_HOT void put_free(struct hw_pool *pool, struct block *block, size_t size)
{
  block_set_word(pool, block, size | BLOCK_FREE);
  block_footer(block, size)->to = block;
  bin_insert(pool, block, size);
}

/* Makes the first block of the bin, which has `size` bytes at least, a used one: its first `size` bytes, or all where too little
 * would be left for a free block. 0: it, or what is behind it, was written to. Else its size. */
HWI_HOT size_t take_first(struct hw_pool *pool, size_t bin, struct block *block, size_t size)
{
  if (UNLIKELY(!has_free_head(pool, block)))
    return 0;
  size_t have = block_size(block);
  if (have - size >= MIN_BLOCK) {
    if (UNLIKELY(!bin_pop(pool, bin, block)))
      return 0;
    put_free(pool, block_at(block, size), have - size);
  } else {
    struct block *behind = block_at(block, have);
    size_t head = behind->head ^ AFTER_FREE_BITS;
    if (UNLIKELY(!head_is_sealed(pool, behind, head) || !bin_pop(pool, bin, block)))
      return 0;
    behind->head = head;
    size = have;
  }
  block_set_word(pool, block, size);
  return size;
}

/* The first block of the bin, which bin_find has found, or 0, as a used one of `size` bytes. NULL: there is none, or a fault. */
HWI_HOT void *take_from(struct hw_pool *pool, size_t bin, size_t size)
{
  if (UNLIKELY(!bin))
    return NULL;
  struct block *block = bin_link(pool, bin)->to;
  size_t taken = take_first(pool, bin, block, size);
  if (UNLIKELY(!taken))
    return NULL;
  count_used(pool, taken);
  pool->used_count++;
  void *payload = block_payload(block);
  if (!payload)
    __builtin_unreachable(); /* what compilers would look at again */
  return payload;
}

/* Requests that are met from a bin of just their size, or a larger one: no other arithmetic is needed. */
static inline bool is_small_request(size_t bytes)
{
  return bytes < LINEAR_END - 2 * ALIGN;
}

/* hw_pool_alloc; NULL may also be a fault that nobody has been told of. */
HWI_HOT void *pool_try_alloc_small(struct hw_pool *pool, size_t bytes)
{
  size_t size = block_size_for(bytes);
  return take_from(pool, bin_next(pool, size >> ALIGN_LOG2), size);
}

HWI_HOT void *pool_try_alloc_large(struct hw_pool *pool, size_t bytes)
{
  size_t size = block_size_for(bytes);
  return bytes <= pool->largest_request ? take_from(pool, bin_find(pool, size), size) : NULL;
}

/* --- giving back --- */

/* Makes `size` bytes from `block` on, which are in no bin, free, together with a free block behind. False, and nothing is changed: that
 * one was written to. */
HWI_HOT bool join_behind(struct hw_pool *pool, struct block *block, size_t size)
{
  struct block *behind = block_at(block, size);
  size_t head = behind->head;
  if (head & BLOCK_FREE << SEAL_BITS) {
    if (UNLIKELY(!bin_remove(pool, behind)))
      return false;
    size += head_word(head) - BLOCK_FREE;
  } else {
    behind->head = head ^ AFTER_FREE_BITS;
  }
  put_free(pool, block, size);
  return true;
}

/* The same for a block that has AFTER_FREE: together with the free one in front. */
HWI_HOT bool join_both(struct hw_pool *pool, struct block *block, size_t size)
{
  struct block *front = block_in_front(block);
  size_t front_size = (uintptr_t)block - (uintptr_t)front;
  if (UNLIKELY(!front_is_sound(pool, block) || !bin_remove(pool, front)))
    return false;
  size_t head = block->head;
  block->head = FREED_MARK;
  if (LIKELY(join_behind(pool, front, front_size + size)))
    return true;
  block->head = head;
  bin_insert(pool, front, front_size);
  return false;
}

/* Makes a used block, with a sound header behind it, part of the free memory. False, and nothing is changed: a neighbour that is
 * free was written to. */
HWI_HOT bool give_back(struct hw_pool *pool, struct block *block, size_t size)
{
  return block_is_after_free(block) ? join_both(pool, block, size) : join_behind(pool, block, size);
}

/* hw_pool_free, of any address. False: a fault, or NULL. Whether there is a free block in front is asked once, at the start. */
HWI_HOT bool pool_try_free(struct hw_pool *pool, void *payload)
{
  if (UNLIKELY(!is_payload(pool, payload)))
    return false;
  struct block *block = block_of_payload(payload);
  size_t head = block->head, size;
  if (head_is_after_free(head)) {
    head ^= AFTER_FREE_BITS;
    size = head_word(head);
    if (UNLIKELY(!is_used_head(pool, block, head)) || UNLIKELY(!join_both(pool, block, size)))
      return false;
  } else {
    size = head_word(head);
    if (UNLIKELY(!is_used_head(pool, block, head)) || UNLIKELY(!join_behind(pool, block, size)))
      return false;
  }
  pool->below_peak_bytes += size;
  pool->used_count--;
  return true;
}

#endif
