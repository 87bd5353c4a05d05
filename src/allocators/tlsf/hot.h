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

/* Makes what lies from `block` on a free block, whose header is to be `head`. What is in front is used, and what is behind
 * knows already. */
HWI_HOT void put_free_head(struct hw_pool *pool, struct block *block, size_t size, size_t head)
{
  block->head = head;
  block_footer(block, size)->to = block;
  bin_insert(pool, block, bin_of(size));
}

/* The same, of what `word` says: a size, and BLOCK_FREE. */
HWI_HOT void put_free(struct hw_pool *pool, struct block *block, size_t word)
{
  block_set_word(pool, block, word);
  block_footer(block, word - BLOCK_FREE)->to = block;
  bin_insert(pool, block, bin_of(word));
}

/* A block was given out. */
HWI_HOT void *taken(struct hw_pool *pool, struct block *block, size_t size)
{
  count_used(pool, size);
  pool->used_count++;
  void *payload = block_payload(block);
  if (!payload)
    __builtin_unreachable(); /* what compilers would look at again */
  return payload;
}

/* The first block of a bin of just one size, all of it, as a used one. NULL: it, or what is behind it, was written to. */
HWI_HOT void *take_whole(struct hw_pool *pool, struct link *from, size_t size)
{
  struct block *block = from->to;
  struct block *behind = block_at(block, size);
  size_t product = seal_product(pool, block, size);
  if (UNLIKELY(block->head != head_of(size | BLOCK_FREE, seal_product_when_free(pool, product))) ||
      (!IS_SEALED && !is_inside(pool, behind)))
    return NULL;
  if (UNLIKELY(!head_is_sealed(pool, behind, behind->head ^ AFTER_FREE_BITS) ||
               !bin_pop(pool, from, block, bin_of_link(pool, from))))
    return NULL;
  block_turn_after_free(behind);
  block->head = head_of(size, product);
  return taken(pool, block, size);
}

/* The first block of the bin, which bin_find has found, or 0, as a used one: its first `size` bytes, or all where too little would
 * be left for a free block. NULL: there is none; or it, or what is behind it, was written to. */
HWI_HOT void *take_from(struct hw_pool *pool, size_t bin, size_t size)
{
  if (UNLIKELY(!bin))
    return NULL;
  struct link *from = bin_link(pool, bin);
  struct block *block = from->to;
  if (UNLIKELY(!has_free_head(pool, block)))
    return NULL;
  size_t rest = head_word(block->head) - size; /* and BLOCK_FREE, which makes it more than MIN_BLOCK or less */
  if (LIKELY(rest > MIN_BLOCK)) {
    if (UNLIKELY(!bin_pop(pool, from, block, bin_of_link(pool, from))))
      return NULL;
    put_free(pool, block_at(block, size), rest);
  } else {
    size += rest - BLOCK_FREE;
    struct block *behind = block_at(block, size);
    if (UNLIKELY(!head_is_sealed(pool, behind, behind->head ^ AFTER_FREE_BITS) ||
                 !bin_pop(pool, from, block, bin_of_link(pool, from))))
      return NULL;
    block_turn_after_free(behind);
  }
  block_set_word(pool, block, size);
  return taken(pool, block, size);
}

/* Requests that are met from a bin of just their size, or a larger one: no other arithmetic is needed. */
static inline bool is_small_request(size_t bytes)
{
  return bytes < LINEAR_END - 2 * ALIGN;
}

/* A small request, as a block's size, from the bin of just that size. NULL: there is no such block, or a fault that nobody has been
 * told of. */
HWI_HOT void *pool_try_alloc_same(struct hw_pool *pool, size_t size)
{
  struct link *from = bin_link(pool, size >> ALIGN_LOG2);
  return LIKELY(from->to) ? take_whole(pool, from, size) : NULL;
}

/* hw_pool_alloc; NULL may also be a fault that nobody has been told of. */
HWI_HOT void *pool_try_alloc(struct hw_pool *pool, size_t bytes)
{
  size_t size = block_size_for(bytes);
  if (UNLIKELY(bytes > pool->largest_request))
    return NULL;
  return take_from(pool, bin_find(pool, size), size);
}

/* How far behind the start of `block` a block with an aligned payload may begin: nowhere, or far enough for a free block. */
static inline size_t aligned_off(const struct block *block, size_t align)
{
  size_t off = (size_t)(0 - (uintptr_t)block_payload(block)) & (align - 1);
  return off == MIN_BLOCK - ALIGN ? off + align : off; /* the only multiple of ALIGN in between */
}

/* Puts a free block, what `word` says, in the place of the first one of a bin: in the same bin, where it belongs there, as what is
 * left of one large free block does. False, and nothing is changed: the links were written to. */
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

/* Makes a used block of the first one of a bin, so far behind its start that the payload is aligned; what is in front of it stays
 * free, and what is behind it, where that is enough for a block. NULL: one of them was written to. */
HWI_HOT void *take_aligned(struct hw_pool *pool, size_t bin, size_t align, size_t size)
{
  struct link *from = bin_link(pool, bin);
  struct block *block = from->to;
  if (UNLIKELY(!has_free_head(pool, block)))
    return NULL;
  size_t off = aligned_off(block, align), rest = head_word(block->head) - off - size; /* and BLOCK_FREE */
  struct block *used = block_at(block, off);
  if (LIKELY(rest > MIN_BLOCK)) {
    if (UNLIKELY(!put_instead(pool, bin, block_at(used, size), rest)))
      return NULL;
  } else {
    size += rest - BLOCK_FREE;
    struct block *behind = block_at(used, size);
    if (UNLIKELY(!head_is_sealed(pool, behind, behind->head ^ AFTER_FREE_BITS) || !bin_pop(pool, from, block, bin)))
      return NULL;
    block_turn_after_free(behind);
  }
  block_set_word(pool, used, size);
  if (LIKELY(off)) {
    block_turn_after_free(used);
    put_free(pool, block, off | BLOCK_FREE);
  }
  return taken(pool, used, size);
}

/* What has room for `size` bytes behind an aligned payload wherever it lies: in front, less than `align`, or ALIGN more where that is
 * too little for a free block. */
static inline size_t unaligned_size(size_t align, size_t size)
{
  return size + ALIGN + align;
}

/* hw_pool_alloc_aligned of more than ALIGN; NULL may also be a fault that nobody has been told of. The size's own bin may have a
 * block that was aligned before. */
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

/* --- giving back --- */

/* Makes `size` bytes from `block` on, which are in no bin, free, together with the free block behind, whose header is `head`.
 * False, and nothing is changed: that one was written to. */
HWI_HOT bool join_free(struct hw_pool *pool, struct block *block, size_t size, size_t head)
{
  if (UNLIKELY(!bin_remove(pool, block_at(block, size))))
    return false;
  put_free(pool, block, size + head_word(head));
  return true;
}

/* The same where what is behind may be used. */
HWI_HOT bool join_behind(struct hw_pool *pool, struct block *block, size_t size)
{
  struct block *behind = block_at(block, size);
  size_t head = behind->head;
  if (head & BLOCK_FREE << SEAL_BITS)
    return join_free(pool, block, size, head);
  behind->head = head ^ AFTER_FREE_BITS;
  put_free(pool, block, size | BLOCK_FREE);
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
  bin_insert(pool, front, bin_of(front_size));
  return false;
}

/* As join_behind, of a whole block, the product of whose header is known. */
HWI_HOT bool join_whole(struct hw_pool *pool, struct block *block, size_t size, size_t product)
{
  struct block *behind = block_at(block, size);
  size_t head = behind->head;
  if (head & BLOCK_FREE << SEAL_BITS)
    return join_free(pool, block, size, head);
  behind->head = head ^ AFTER_FREE_BITS;
  put_free_head(pool, block, size, head_of(size | BLOCK_FREE, seal_product_when_free(pool, product)));
  return true;
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
    size_t product = seal_product(pool, block, size);
    if (UNLIKELY(!is_used_head(pool, block, head)) || UNLIKELY(!join_whole(pool, block, size, product)))
      return false;
  }
  pool->below_peak_bytes += size;
  pool->used_count--;
  return true;
}

/* --- changing the size --- */

/* A used block, which had `have` bytes, and the free memory behind it, up to `end`, become a used block of `size` bytes and a free
 * one, where enough is left over for that. What is at the end knows of a free block in front. */
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

/* The used block of `have` bytes, with a sound header behind it, has `size` where it stands. False, and nothing is changed: there is
 * no room, or what is free behind it was written to. */
HWI_HOT bool resize(struct hw_pool *pool, struct block *block, size_t have, size_t size)
{
  struct block *behind = block_at(block, have);
  if (have - size < MIN_BLOCK)
    return true;
  if (!block_is_free(behind)) {
    if (size > have)
      return false;
    block_turn_after_free(behind);
    share_out(pool, block, have, size, behind);
    return true;
  }
  struct block *end = block_at(behind, block_size(behind));
  size_t room = (uintptr_t)end - (uintptr_t)block;
  if (size > room || (room - size < MIN_BLOCK && UNLIKELY(!head_is_sealed(pool, end, end->head ^ AFTER_FREE_BITS))) ||
      UNLIKELY(!bin_remove(pool, behind)))
    return false;
  share_out(pool, block, have, size, end);
  return true;
}

/* hw_pool_resize, of any address. False: no room, or a fault that nobody has been told of. */
HWI_HOT bool pool_try_resize(struct hw_pool *pool, void *payload, size_t bytes)
{
  if (UNLIKELY(!is_payload(pool, payload)) || UNLIKELY(bytes > pool->largest_request))
    return false;
  struct block *block = block_of_payload(payload);
  size_t head = head_without_after_free(block->head);
  return LIKELY(is_used_head(pool, block, head)) && resize(pool, block, head_word(head), block_size_for(bytes));
}

#endif
