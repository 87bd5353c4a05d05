/* pool.c - giving blocks out and taking them back
 *
 * Two-level segregated fit. A request is met from the first bin whose blocks are all large enough (bins.h), what is left over
 * goes back as a free block, and a block that is freed joins its free neighbours at once: the header says whether the one in
 * front is free, whose last word then says where it begins, and the one behind begins where the block ends. Nothing searches,
 * so that each operation takes the same few dozen instructions whatever came before, and since free neighbours never stay
 * apart, the pool is as little fragmented as a best fit would leave it.
 *
 * Each operation first looks at all that it is going to rely on, then changes it: a fault is found before anything was done.
 */
#include "heapwright/pool.h"

#include "allocators/tlsf/bins.h"
#include "allocators/tlsf/internal.h"
#include "allocators/tlsf/layout.h"

#define HWI_HOT static inline __attribute__((always_inline))
#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

static __attribute__((noinline, cold)) enum hw_pool_fault pool_fault(struct hw_pool *pool, enum hw_pool_fault fault,
                                                                     void *address)
{
  pool->fault_count++;
  if (pool->on_fault)
    pool->on_fault(pool->fault_context, pool, fault, address);
  return fault;
}

/* --- what an operation relies on --- */

/* It can be followed: it leads into the pool's tables, or into a region. */
static inline bool is_inside(const struct hw_pool *pool, const void *at)
{
  return LIKELY(pool_has_near(pool, at, WORD_LOG2)) || ((uintptr_t)at % WORD == 0 && pool_region(pool, at));
}

/* The block, in its bin until now, has the header of a free one. */
static inline bool has_free_head(const struct hw_pool *pool, const struct block *block)
{
  if (UNLIKELY(!block_is_free(block) || !block_is_sealed(block)))
    return false;
  return IS_SEALED || (block_size(block) >= MIN_BLOCK && is_inside(pool, block_at(block, block_size(block))));
}

/* Of what `have` bytes from `block` on leave over when `size` are taken, enough to be a free block; or the header behind, which
 * must be told otherwise, is sound. */
static inline bool end_is_sound(const struct block *block, size_t have, size_t size)
{
  return have - size >= MIN_BLOCK || block_is_sealed(block_at(block, have));
}

/* The footer in front of a block, which has AFTER_FREE, leads to the header of a free block of just that size: no seal is needed. */
static inline bool front_is_sound(const struct hw_pool *pool, const struct block *block)
{
  const struct block *front = block_in_front(block);
  return is_inside(pool, front) && block_word(front) == (((uintptr_t)block - (uintptr_t)front) | BLOCK_FREE);
}

/* What is wrong with a block that is not as used_block says. */
static __attribute__((noinline, cold)) enum hw_pool_fault used_block_fault(const struct hw_pool *pool,
                                                                           const void *payload)
{
  const struct block *block = block_of_payload(payload);
  const struct region *region = pool_region(pool, block);
  if (!region || (uintptr_t)payload % ALIGN)
    return HW_POOL_FOREIGN;
  if (block->head == FREED_MARK)
    return HW_POOL_FREED;
  if (!block_is_sealed(block))
    return HW_POOL_NOT_A_BLOCK;
  if (block_is_free(block))
    return HW_POOL_FREED;
  size_t size = block_size(block);
  if (size < MIN_BLOCK || size > (uintptr_t)region->fence - (uintptr_t)block)
    return HW_POOL_NOT_A_BLOCK;
  return HW_POOL_OVERRUN;
}

/* The used block with this payload, if it is one and the header behind it is sound; otherwise NULL. */
HWI_HOT struct block *used_block(const struct hw_pool *pool, const void *payload)
{
  struct block *block = block_of_payload(payload);
  const void *unit_of_head =
      block_at(block, (size_t)WORD - ALIGN); /* not the pool's first, before which there may be nothing */
  if (UNLIKELY(!pool_has_near(pool, unit_of_head, ALIGN_LOG2)) &&
      ((uintptr_t)payload % ALIGN != 0 || !pool_region(pool, block)))
    return NULL;
  size_t size = block_size(block);
  if (UNLIKELY(block_is_free(block) || !block_is_sealed(block)))
    return NULL;
  if (UNLIKELY(size < MIN_BLOCK) || (!IS_SEALED && !is_inside(pool, block_at(block, size))))
    return NULL;
  return LIKELY(block_is_sealed(block_at(block, size))) ? block : NULL;
}

/* --- taking --- */

static inline void count_used(struct hw_pool *pool, size_t size)
{
  pool->used_bytes += size;
  if (pool->used_bytes > pool->peak_bytes)
    pool->peak_bytes = pool->used_bytes;
}

/* Makes `size` bytes from `block` on a free block. What is in front is used, and what is behind knows already. */
HWI_HOT void put_free(struct hw_pool *pool, struct block *block, size_t size)
{
  block_set_word(block, size | BLOCK_FREE);
  block_footer(block, size)->to = block;
  bin_insert(pool, block, size);
}

/* Tells the block behind whether the one in front of it is free now. */
static inline void set_after_free(struct block *behind, size_t after_free)
{
  block_set_word(behind, (block_word(behind) & ~BLOCK_AFTER_FREE) | after_free);
}

/* Makes the first `size` of `have` bytes, which are in no bin, a used block, and what is left over a free one. `flags`: whether
 * the block in front is free. The block behind has AFTER_FREE. Returns the block's size. */
HWI_HOT size_t carve(struct hw_pool *pool, struct block *block, size_t have, size_t size, size_t flags)
{
  if (have - size >= MIN_BLOCK) {
    put_free(pool, block_at(block, size), have - size);
  } else {
    size = have;
    set_after_free(block_at(block, have), 0);
  }
  block_set_word(block, size | flags);
  return size;
}

/* Makes a used block of a free one, from `off` on; what is in front of it stays free. */
HWI_HOT void *use_free(struct hw_pool *pool, struct block *block, size_t off, size_t size)
{
  struct block *used = block_at(block, off);
  size_t have = block_size(block) - off;
  if (UNLIKELY(!has_free_head(pool, block) || !end_is_sound(used, have, size) || !bin_remove(pool, block))) {
    pool_fault(pool, HW_POOL_WRITTEN_AFTER_FREE, block_payload(block));
    return NULL;
  }
  count_used(pool, carve(pool, used, have, size, off ? BLOCK_AFTER_FREE : 0));
  if (off)
    put_free(pool, block, off);
  pool->used_count++;
  return block_payload(used);
}

void *hw_pool_alloc(struct hw_pool *pool, size_t bytes)
{
  if (UNLIKELY(bytes > pool->largest_request))
    return NULL;
  size_t size = block_size_for(bytes);
  struct block *block = bin_find(pool, size);
  return LIKELY(block) ? use_free(pool, block, 0, size) : NULL;
}

/* How far behind the start of `block` a block with an aligned payload may begin: nowhere, or far enough for a free block. */
static inline size_t aligned_off(const struct block *block, size_t align)
{
  uintptr_t payload = (uintptr_t)block_payload(block);
  size_t off = (size_t)(0 - payload) & (align - 1);
  return off && off < MIN_BLOCK ? off + align : off;
}

void *hw_pool_alloc_aligned(struct hw_pool *pool, size_t align, size_t bytes)
{
  if (!align || (align & (align - 1)))
    return NULL;
  if (align <= ALIGN)
    return hw_pool_alloc(pool, bytes);
  if (UNLIKELY(bytes > pool->largest_request))
    return NULL;
  size_t size = block_size_for(bytes);
  struct block *block = bin_find(pool, size); /* it may happen to be aligned, or to have room to spare */
  if (block && aligned_off(block, align) > block_size(block) - size) {
    size_t at_most =
        size + ALIGN; /* in front, less than `align`, or ALIGN more where that is too little for a free block */
    bool is_possible = align <= pool->largest_request && at_most <= pool->largest_request - align;
    block = is_possible ? bin_find(pool, at_most + align) : NULL;
  }
  return block ? use_free(pool, block, aligned_off(block, align), size) : NULL;
}

/* --- giving back --- */

/* Makes a used block, with a sound header behind it, part of the free memory. False, and nothing is changed: a neighbour that is
 * free was written to. */
HWI_HOT bool give_back(struct hw_pool *pool, struct block *block, size_t size)
{
  struct block *behind = block_at(block, size), *start = block;
  if (block_is_after_free(block)) {
    start = block_in_front(block);
    if (UNLIKELY(!front_is_sound(pool, block) || !bin_remove(pool, start)))
      return false;
    size += (uintptr_t)block - (uintptr_t)start;
  }
  if (block_is_free(behind)) {
    if (UNLIKELY(!bin_remove(pool, behind))) {
      if (start != block)
        bin_insert(pool, start, (uintptr_t)block - (uintptr_t)start);
      return false;
    }
    size += block_word(behind) - BLOCK_FREE;
  } else {
    set_after_free(behind, BLOCK_AFTER_FREE);
  }
  block->head = FREED_MARK;
  put_free(pool, start, size);
  return true;
}

enum hw_pool_fault hw_pool_free(struct hw_pool *pool, void *payload)
{
  if (UNLIKELY(!payload))
    return HW_POOL_OK;
  struct block *block = used_block(pool, payload);
  if (UNLIKELY(!block))
    return pool_fault(pool, used_block_fault(pool, payload), payload);
  size_t size = block_size(block);
  if (UNLIKELY(!give_back(pool, block, size)))
    return pool_fault(pool, HW_POOL_WRITTEN_AFTER_FREE, payload);
  pool->used_bytes -= size;
  pool->used_count--;
  return HW_POOL_OK;
}

void hwi_pool_give(struct hw_pool *pool, struct block *block)
{
  size_t size = block_size(block);
  pool->capacity_bytes += size;
  if (LIKELY(give_back(pool, block, size)))
    return;
  pool->used_count++; /* a block that nobody has */
  count_used(pool, size);
  pool_fault(pool, HW_POOL_WRITTEN_AFTER_FREE, block_payload(block));
}

/* --- changing the size --- */

size_t hw_pool_usable_bytes(struct hw_pool *pool, void *payload)
{
  if (UNLIKELY(!payload))
    return 0;
  struct block *block = used_block(pool, payload);
  if (LIKELY(block))
    return block_size(block) - WORD;
  pool_fault(pool, used_block_fault(pool, payload), payload);
  return 0;
}

/* Splits off what a used block has beyond `size`; the header behind it is sound. False, as in give_back. */
static bool shrink(struct hw_pool *pool, struct block *block, size_t size)
{
  size_t have = block_size(block), rest_size = have - size, flags = block_word(block) & BLOCK_AFTER_FREE;
  if (rest_size < MIN_BLOCK)
    return true;
  struct block *rest = block_at(block, size);
  size_t kept = rest->head; /* of the payload */
  block_set_word(block, size | flags);
  block_set_word(rest, rest_size);
  if (LIKELY(give_back(pool, rest, rest_size))) {
    pool->used_bytes -= rest_size;
    return true;
  }
  block_set_word(block, have | flags);
  rest->head = kept;
  return false;
}

/* Adds to a used block what it needs of the free one behind it, which is large enough. False: that one was written to. */
static bool grow(struct hw_pool *pool, struct block *block, size_t size)
{
  size_t have = block_size(block);
  struct block *behind = block_at(block, have);
  size_t both = have + block_size(behind);
  if (UNLIKELY(!end_is_sound(block, both, size) || !bin_remove(pool, behind)))
    return false;
  count_used(pool, carve(pool, block, both, size, block_word(block) & BLOCK_AFTER_FREE) - have);
  return true;
}

bool hw_pool_resize(struct hw_pool *pool, void *payload, size_t bytes)
{
  struct block *block = used_block(pool, payload);
  if (UNLIKELY(!block)) {
    pool_fault(pool, used_block_fault(pool, payload), payload);
    return false;
  }
  if (bytes > pool->largest_request)
    return false;
  size_t size = block_size_for(bytes), have = block_size(block);
  struct block *behind = block_at(block, have);
  if (size > have && (!block_is_free(behind) || size - have > block_size(behind)))
    return false;
  if (LIKELY(size > have ? grow(pool, block, size) : shrink(pool, block, size)))
    return true;
  pool_fault(pool, HW_POOL_WRITTEN_AFTER_FREE, block_payload(behind));
  return false;
}

struct HWI_REUSED word {
  size_t bits;
};

/* By words, as payloads are whole words; the barrier keeps the compiler from calling memcpy, which there may be none of. */
static void copy_words(void *to, const void *from, size_t bytes)
{
  struct word *out = (struct word *)to;
  const struct word *in = (const struct word *)from, *end = in + bytes / WORD;
  while (in < end) {
    *out++ = *in++;
    __asm__ volatile("" : : : "memory");
  }
}

void *hw_pool_realloc(struct hw_pool *pool, void *payload, size_t bytes)
{
  if (!payload)
    return hw_pool_alloc(pool, bytes);
  size_t fault_count = pool->fault_count;
  if (hw_pool_resize(pool, payload, bytes))
    return payload;
  void *moved = pool->fault_count == fault_count ? hw_pool_alloc(pool, bytes) : NULL;
  if (!moved)
    return NULL;
  size_t have = block_size(block_of_payload(payload)) - WORD, room = block_size(block_of_payload(moved)) - WORD;
  copy_words(moved, payload, have < room ? have : room);
  if (hw_pool_free(pool, payload) == HW_POOL_OK)
    return moved;
  hw_pool_free(pool, moved);
  return NULL;
}
