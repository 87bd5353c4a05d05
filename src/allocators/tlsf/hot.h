/* hot.h - allocating and freeing a block, as inline code
 *
 * pool.c makes the public functions of these, and finds the fault if one of them fails. The heap of a process puts them
 * between taking and releasing its lock, so that an entry point is one piece of code. Each function first checks
 * everything that it relies on, and then makes its changes: if it fails, nothing was changed.
 */
#ifndef HWI_ALLOCATORS_TLSF_HOT_H
#define HWI_ALLOCATORS_TLSF_HOT_H

#include "allocators/tlsf/bins.h"
#include "allocators/tlsf/layout.h"

#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* --- what an operation relies on --- */

/* Returns true if `at` is the fence of a region. Only headers without a seal need this. */
static inline bool is_fence(const struct hw_pool *pool, const void *at)
{
  const struct region *region = pool->regions;
  while (region && region->fence != at)
    region = region->next;
  return region;
}

/* Returns true if `at` is a readable, aligned address: in the pool's tables or in a region. */
static inline bool is_inside(const struct hw_pool *pool, const void *at)
{
  return LIKELY(pool_has_near(pool, at, WORD_LOG2)) ||
         ((uintptr_t)at % WORD == 0 && (pool_region(pool, at) || (!IS_SEALED && is_fence(pool, at))));
}

/* Returns true if the block, which is still in its bin, has the header of a free block. */
static inline bool has_free_head(const struct hw_pool *pool, const struct block *block)
{
  if (UNLIKELY(!block_is_free(block) || !head_is_sealed(pool, block, block->head)))
    return false;
  return IS_SEALED || (block_size(block) >= MIN_BLOCK && is_inside(pool, block_at(block, block_size(block))));
}

/* The block has AFTER_FREE. Returns true if the footer before it points to the header of a free block of exactly that
 * size; the seal need not be checked. */
static inline bool front_is_sound(const struct hw_pool *pool, const struct block *block)
{
  const struct block *front = block_in_front(block);
  return is_inside(pool, front) && head_word(front->head) == (((uintptr_t)block - (uintptr_t)front) | BLOCK_FREE);
}

/* Returns true if a block's header may be before this payload. */
HWI_HOT bool is_payload(const struct hw_pool *pool, const void *payload)
{
  const struct block *block = block_of_payload(payload);
  const void *unit =
      block_at(block, (size_t)WORD - ALIGN); /* excludes the pool's start, before which there may be nothing */
  return LIKELY(pool_has_near(pool, unit, ALIGN_LOG2)) || ((uintptr_t)payload % ALIGN == 0 && pool_region(pool, block));
}

/* `head` must be without AFTER_FREE. Returns true if it is the header of a used block, and the next header is valid. */
HWI_HOT bool is_used_head(const struct hw_pool *pool, const struct block *block, size_t head)
{
  size_t size = head_word(head);
  if (UNLIKELY(!head_is_sealed(pool, block, head) || size & BLOCK_FLAGS))
    return false;
  const struct block *following = block_at(block, size);
  if (!IS_SEALED && (size < MIN_BLOCK || !is_inside(pool, following)))
    return false;
  return LIKELY(head_is_sealed(pool, following, following->head));
}

/* Returns the size of the used block with this payload, or 0 if there is none. */
static inline size_t used_size(const struct hw_pool *pool, const void *payload)
{
  const struct block *block = block_of_payload(payload);
  if (!is_payload(pool, payload) || !is_used_head(pool, block, head_without_after_free(block->head)))
    return 0;
  return block_size(block);
}

/* --- allocating --- */

static inline void count_used(struct hw_pool *pool, size_t size)
{
  size_t below;
  if (__builtin_sub_overflow(pool->below_peak_bytes, size, &below)) {
    pool->peak_bytes -= below;
    below = 0;
  }
  pool->below_peak_bytes = below;
}

/* Makes the memory from `block` on a free block with the header `head`. The preceding block must be used, and the next
 * block must have AFTER_FREE already. */
HWI_HOT void put_free_head(struct hw_pool *pool, struct block *block, size_t size, size_t head)
{
  block->head = head;
  block_footer(block, size)->to = block;
  bin_insert(pool, block, bin_of(size));
}

/* Makes the memory from `block` on a free block of the size in `word`, which has BLOCK_FREE. The preceding block must
 * be used, and the next block must have AFTER_FREE already. */
HWI_HOT void put_free(struct hw_pool *pool, struct block *block, size_t word)
{
  block_set_word(pool, block, word);
  block_footer(block, word - BLOCK_FREE)->to = block;
  bin_insert(pool, block, bin_of(word));
}

/* Counts an allocated block and returns its payload. */
HWI_HOT void *taken(struct hw_pool *pool, struct block *block, size_t size)
{
  count_used(pool, size);
  pool->used_count++;
  void *payload = block_payload(block);
  if (!payload)
    __builtin_unreachable(); /* so that compilers omit a comparison with NULL */
  return payload;
}

/* Allocates the whole first block of a bin that has only one size. Returns NULL if that block or the next one in memory
 * was overwritten. */
HWI_HOT void *take_whole(struct hw_pool *pool, struct link *from, size_t size)
{
  struct block *block = from->to;
  struct block *following = block_at(block, size);
  size_t product = seal_product(pool, block, size);
  if (UNLIKELY(block->head != head_of(size | BLOCK_FREE, seal_product_when_free(pool, product))) ||
      (!IS_SEALED && !is_inside(pool, following)))
    return NULL;
  if (UNLIKELY(!head_is_sealed(pool, following, following->head ^ AFTER_FREE_BITS) ||
               !bin_pop(pool, from, block, bin_of_link(pool, from))))
    return NULL;
  block_turn_after_free(following);
  block->head = head_of(size, product);
  return taken(pool, block, size);
}

/* Allocates from the first block of `bin`, which is a result of bin_find, possibly 0: its first `size` bytes, or all of
 * it if the rest is too small for a free block. Returns NULL if there is no block, or if it or the next one in memory
 * was overwritten. */
HWI_HOT void *take_from(struct hw_pool *pool, size_t bin, size_t size)
{
  if (UNLIKELY(!bin))
    return NULL;
  struct link *from = bin_link(pool, bin);
  struct block *block = from->to;
  if (UNLIKELY(!has_free_head(pool, block)))
    return NULL;
  size_t rest = head_word(block->head) - size; /* includes BLOCK_FREE, so it never equals MIN_BLOCK */
  if (LIKELY(rest > MIN_BLOCK)) {
    if (UNLIKELY(!bin_pop(pool, from, block, bin_of_link(pool, from))))
      return NULL;
    put_free(pool, block_at(block, size), rest);
  } else {
    size += rest - BLOCK_FREE;
    struct block *following = block_at(block, size);
    if (UNLIKELY(!head_is_sealed(pool, following, following->head ^ AFTER_FREE_BITS) ||
                 !bin_pop(pool, from, block, bin_of_link(pool, from))))
      return NULL;
    block_turn_after_free(following);
  }
  block_set_word(pool, block, size);
  return taken(pool, block, size);
}

/* Returns true if the request is met from a bin of exactly its size, or a larger one, without other arithmetic. */
static inline bool is_small_request(size_t bytes)
{
  return bytes < LINEAR_END - 2 * ALIGN;
}

/* Allocates a small request, given as a block size, from the bin of exactly that size. Returns NULL if there is no such
 * block, or if there is a fault, which is not reported yet. */
HWI_HOT void *pool_try_alloc_same(struct hw_pool *pool, size_t size)
{
  struct link *from = bin_link(pool, size >> ALIGN_LOG2);
  return LIKELY(from->to) ? take_whole(pool, from, size) : NULL;
}

/* Does the same as hw_pool_alloc, but does not report faults: it returns NULL for them, too. */
HWI_HOT void *pool_try_alloc(struct hw_pool *pool, size_t bytes)
{
  size_t size = block_size_for(bytes);
  if (UNLIKELY(bytes > pool->largest_request))
    return NULL;
  return take_from(pool, bin_find(pool, size), size);
}

/* Returns how far after the start of `block` a block with an aligned payload can begin: 0, or far enough for a free
 * block before it. */
static inline size_t aligned_off(const struct block *block, size_t align)
{
  size_t off = (size_t)(0 - (uintptr_t)block_payload(block)) & (align - 1);
  return off == MIN_BLOCK - ALIGN ? off + align : off; /* too small for a free block; the only such multiple of ALIGN */
}

/* Puts a free block with the size and BLOCK_FREE in `word` in the place of the first block of a bin. If it belongs in
 * the same bin, as the rest of one large free block does, it stays there. Returns false, and changes nothing, if the
 * links were overwritten. */
HWI_HOT bool put_instead(struct hw_pool *pool, size_t from_bin, struct block *block, size_t word)
{
  struct link *from = bin_link(pool, from_bin);
  size_t bin = bin_of(word);
  if (bin == from_bin) {
    if (UNLIKELY(!bin_replace(from, from->to, block)))
      return false;
  } else {
    if (UNLIKELY(!bin_pop(pool, from, from->to, from_bin)))
      return false;
    bin_insert(pool, block, bin);
  }
  block_set_word(pool, block, word);
  block_footer(block, word - BLOCK_FREE)->to = block;
  return true;
}

/* Allocates from the first block of a bin, at the first offset at which the payload is aligned. The memory before the
 * new block stays free, and so does the memory after it if that is enough for a block. Returns NULL if one of these
 * blocks was overwritten. */
HWI_HOT void *take_aligned(struct hw_pool *pool, size_t bin, size_t align, size_t size)
{
  struct link *from = bin_link(pool, bin);
  struct block *block = from->to;
  if (UNLIKELY(!has_free_head(pool, block)))
    return NULL;
  size_t off = aligned_off(block, align), rest = head_word(block->head) - off - size; /* includes BLOCK_FREE */
  struct block *used = block_at(block, off);
  if (LIKELY(rest > MIN_BLOCK)) {
    if (UNLIKELY(!put_instead(pool, bin, block_at(used, size), rest)))
      return NULL;
  } else {
    size += rest - BLOCK_FREE;
    struct block *following = block_at(used, size);
    if (UNLIKELY(!head_is_sealed(pool, following, following->head ^ AFTER_FREE_BITS) ||
                 !bin_pop(pool, from, block, bin)))
      return NULL;
    block_turn_after_free(following);
  }
  block_set_word(pool, used, size);
  if (LIKELY(off)) {
    block_turn_after_free(used);
    put_free(pool, block, off | BLOCK_FREE);
  }
  return taken(pool, used, size);
}

/* Returns a size in which an aligned payload of `size` bytes fits at any address: the gap before it is less than
 * `align`, or ALIGN more if that is too small for a free block. */
static inline size_t unaligned_size(size_t align, size_t size)
{
  return size + ALIGN + align;
}

/* Does the same as hw_pool_alloc_aligned for alignments above ALIGN, but does not report faults: it returns NULL for
 * them, too. The size's own bin is tried first, since it may have a block that was aligned before. */
HWI_HOT void *pool_try_alloc_aligned(struct hw_pool *pool, size_t align, size_t bytes)
{
  size_t both;
  if (__builtin_add_overflow(bytes, align, &both) || UNLIKELY(both > pool->largest_request))
    return NULL;
  size_t size = block_size_for(bytes), bin = bin_of(size);
  const struct block *fit = bin_link(pool, bin)->to;
  if (LIKELY(!fit || (uintptr_t)block_payload(fit) & (align - 1) || fit->head < size << SEAL_BITS))
    bin = bin_next(pool, bin_of_all(unaligned_size(align, size)));
  return LIKELY(bin) ? take_aligned(pool, bin, align, size) : NULL;
}

/* --- freeing --- */

/* Frees `size` bytes from `block` on, which are in no bin, and merges them with the next block, which is free and has
 * the header `head`. Returns false, and changes nothing, if that block was overwritten. */
HWI_HOT bool join_free(struct hw_pool *pool, struct block *block, size_t size, size_t head)
{
  if (UNLIKELY(!bin_remove(pool, block_at(block, size))))
    return false;
  put_free(pool, block, size + head_word(head));
  return true;
}

/* Frees `size` bytes from `block` on, and merges them with the next block if that is free. Returns false, and changes
 * nothing, if that block was overwritten. */
HWI_HOT bool join_next(struct hw_pool *pool, struct block *block, size_t size)
{
  struct block *following = block_at(block, size);
  size_t head = following->head;
  if (head & BLOCK_FREE << SEAL_BITS)
    return join_free(pool, block, size, head);
  following->head = head ^ AFTER_FREE_BITS;
  put_free(pool, block, size | BLOCK_FREE);
  return true;
}

/* Frees a block with AFTER_FREE, and merges it with the free block before it, and with the next one if that is free.
 * Returns false, and changes nothing, if one of them was overwritten. */
HWI_HOT bool join_both(struct hw_pool *pool, struct block *block, size_t size)
{
  struct block *front = block_in_front(block);
  size_t front_size = (uintptr_t)block - (uintptr_t)front;
  if (UNLIKELY(!front_is_sound(pool, block) || !bin_remove(pool, front)))
    return false;
  size_t head = block->head;
  block->head = FREED_MARK;
  if (LIKELY(join_next(pool, front, front_size + size)))
    return true;
  block->head = head;
  bin_insert(pool, front, bin_of(front_size));
  return false;
}

/* Does the same as join_next for a whole block whose seal product is known. */
HWI_HOT bool join_whole(struct hw_pool *pool, struct block *block, size_t size, size_t product)
{
  struct block *following = block_at(block, size);
  size_t head = following->head;
  if (head & BLOCK_FREE << SEAL_BITS)
    return join_free(pool, block, size, head);
  following->head = head ^ AFTER_FREE_BITS;
  put_free_head(pool, block, size, head_of(size | BLOCK_FREE, seal_product_when_free(pool, product)));
  return true;
}

/* Frees a used block that is followed by a valid header, and merges it with its free neighbours. Returns false, and
 * changes nothing, if one of them was overwritten. */
HWI_HOT bool give_back(struct hw_pool *pool, struct block *block, size_t size)
{
  return block_is_after_free(block) ? join_both(pool, block, size) : join_next(pool, block, size);
}

/* Does the same as hw_pool_free, for any address. Returns false for a fault and for NULL. It branches once, at the
 * start, on whether the block before it is free. */
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
    size_t product = seal_product(pool, block, size);
    if (UNLIKELY(!is_used_head(pool, block, head)) || UNLIKELY(!join_whole(pool, block, size, product)))
      return false;
  }
  pool->below_peak_bytes += size;
  pool->used_count--;
  return true;
}

/* --- changing the size --- */

/* A used block of `have` bytes and the free memory after it, up to `end`, become a used block of `size` bytes, and a
 * free block if the rest is enough for one. The block at `end` must have AFTER_FREE. */
HWI_HOT void share_out(struct hw_pool *pool, struct block *block, size_t have, size_t size, struct block *end)
{
  size_t rest = (uintptr_t)end - (uintptr_t)block - size;
  bool is_after_free = block_is_after_free(block);
  if (LIKELY(rest >= MIN_BLOCK)) {
    put_free(pool, block_at(block, size), rest | BLOCK_FREE);
  } else {
    size += rest;
    block_turn_after_free(end);
  }
  block_set_word(pool, block, size);
  if (is_after_free)
    block_turn_after_free(block);
  if (size > have)
    count_used(pool, size - have);
  else
    pool->below_peak_bytes += have - size;
}

/* Resizes a used block of `have` bytes, which is followed by a valid header, in place. Returns false, and changes
 * nothing, if there is no room, or if the free block after it was overwritten. */
HWI_HOT bool resize(struct hw_pool *pool, struct block *block, size_t have, size_t size)
{
  struct block *following = block_at(block, have);
  if (have - size < MIN_BLOCK)
    return true;
  if (!block_is_free(following)) {
    if (size > have)
      return false;
    block_turn_after_free(following);
    share_out(pool, block, have, size, following);
    return true;
  }
  struct block *end = block_at(following, block_size(following));
  size_t room = (uintptr_t)end - (uintptr_t)block;
  if (size > room || (room - size < MIN_BLOCK && UNLIKELY(!head_is_sealed(pool, end, end->head ^ AFTER_FREE_BITS))) ||
      UNLIKELY(!bin_remove(pool, following)))
    return false;
  share_out(pool, block, have, size, end);
  return true;
}

/* Does the same as hw_pool_resize, for any address. Returns false if there is no room, or if there is a fault, which is
 * not reported. */
HWI_HOT bool pool_try_resize(struct hw_pool *pool, void *payload, size_t bytes)
{
  if (UNLIKELY(!is_payload(pool, payload)) || UNLIKELY(bytes > pool->largest_request))
    return false;
  struct block *block = block_of_payload(payload);
  size_t head = head_without_after_free(block->head);
  return LIKELY(is_used_head(pool, block, head)) && resize(pool, block, head_word(head), block_size_for(bytes));
}

#endif
