/* pool.c - giving blocks out and taking them back
 *
 * Two-level segregated fit. A request is met from the first bin whose blocks are all large enough (bins.h), what is left over
 * goes back as a free block, and a block that is freed joins its free neighbours at once: the header says whether the one in
 * front is free, whose last word then says where it begins, and the one behind begins where the block ends. Nothing searches,
 * so that each operation takes the same few dozen instructions whatever came before, and since free neighbours never stay
 * apart, the pool is as little fragmented as a best fit would leave it.
 *
 * What malloc and free come down to is in hot.h; here is what is left.
 */
#include "heapwright/pool.h"

#include "allocators/tlsf/hot.h"

/* --- faults --- */

#define COLD __attribute__((noinline, cold))

static COLD enum hw_pool_fault report_fault(struct hw_pool *pool, enum hw_pool_fault fault, void *address)
{
  pool->fault_count++;
  if (pool->on_fault)
    pool->on_fault(pool->fault_context, pool, fault, address);
  return fault;
}

/* What is wrong with an address that is not to be freed. */
static enum hw_pool_fault fault_of(const struct hw_pool *pool, const void *payload)
{
  const struct block *block = block_of_payload(payload);
  const struct region *region = pool_region(pool, block);
  if (!region || (uintptr_t)payload % ALIGN)
    return HW_POOL_FOREIGN;
  if (used_size(pool, payload))
    return HW_POOL_WRITTEN_AFTER_FREE; /* a neighbour */
  if (block->head == FREED_MARK)
    return HW_POOL_FREED;
  if (!block_is_sealed(pool, block))
    return HW_POOL_NOT_A_BLOCK;
  if (block_is_free(block))
    return HW_POOL_FREED;
  size_t size = block_size(block);
  if (size < MIN_BLOCK || size > (uintptr_t)region->fence - (uintptr_t)block)
    return HW_POOL_NOT_A_BLOCK;
  return HW_POOL_OVERRUN;
}

static COLD enum hw_pool_fault report_fault_of(struct hw_pool *pool, void *payload)
{
  return report_fault(pool, fault_of(pool, payload), payload);
}

/* --- taking --- */

/* The first block of the bin that bin_find has found; or NULL. */
static struct block *find_block(const struct hw_pool *pool, size_t size)
{
  size_t bin = bin_find(pool, size);
  return bin ? bin_link(pool, bin)->to : NULL;
}

/* A request was not met: there is no block for it, or the one that there is was written to. Returns NULL. */
static COLD void *report_unmet(struct hw_pool *pool, size_t bytes)
{
  struct block *block = bytes <= pool->largest_request ? find_block(pool, block_size_for(bytes)) : NULL;
  if (block)
    report_fault(pool, HW_POOL_WRITTEN_AFTER_FREE, block_payload(block));
  return NULL;
}

void *hw_pool_alloc(struct hw_pool *pool, size_t bytes)
{
  void *payload = is_small_request(bytes) ? pool_try_alloc_small(pool, bytes) : pool_try_alloc_large(pool, bytes);
  return LIKELY(payload) ? payload : report_unmet(pool, bytes);
}

static void set_used(const struct hw_pool *pool, struct block *block, size_t size, bool is_after_free)
{
  block_set_word(pool, block, size);
  if (is_after_free)
    block_turn_after_free(block);
}

/* Of what `have` bytes from `block` on leave over when `size` are taken, enough to be a free block; or the header behind, which
 * must be told otherwise, is sound. */
static inline bool end_is_sound(const struct hw_pool *pool, const struct block *block, size_t have, size_t size)
{
  return have - size >= MIN_BLOCK || block_is_sealed(pool, block_at(block, have));
}

/* Makes the first `size` of `have` bytes, which are in no bin, a used block, and what is left over a free one. The block behind has
 * AFTER_FREE; the new one has it if the block in front is free. Returns the block's size. */
static size_t carve(struct hw_pool *pool, struct block *block, size_t have, size_t size, bool is_after_free)
{
  if (have - size >= MIN_BLOCK) {
    put_free(pool, block_at(block, size), have - size);
  } else {
    size = have;
    block_turn_after_free(block_at(block, have));
  }
  set_used(pool, block, size, is_after_free);
  return size;
}

/* Makes a used block of a free one, from `off` on; what is in front of it stays free. */
static void *use_free(struct hw_pool *pool, struct block *block, size_t off, size_t size)
{
  struct block *used = block_at(block, off);
  size_t have = block_size(block) - off;
  if (UNLIKELY(!has_free_head(pool, block) || !end_is_sound(pool, used, have, size) || !bin_remove(pool, block))) {
    report_fault(pool, HW_POOL_WRITTEN_AFTER_FREE, block_payload(block));
    return NULL;
  }
  count_used(pool, carve(pool, used, have, size, off > 0));
  if (off)
    put_free(pool, block, off);
  pool->used_count++;
  return block_payload(used);
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
  struct block *block = find_block(pool, size); /* it may happen to be aligned, or to have room to spare */
  if (block && aligned_off(block, align) > block_size(block) - size) {
    size_t at_most =
        size + ALIGN; /* in front, less than `align`, or ALIGN more where that is too little for a free block */
    bool is_possible = align <= pool->largest_request && at_most <= pool->largest_request - align;
    block = is_possible ? find_block(pool, at_most + align) : NULL;
  }
  return block ? use_free(pool, block, aligned_off(block, align), size) : NULL;
}

/* --- giving back --- */

enum hw_pool_fault hw_pool_free(struct hw_pool *pool, void *payload)
{
  if (LIKELY(pool_try_free(pool, payload)))
    return HW_POOL_OK;
  return payload ? report_fault_of(pool, payload) : HW_POOL_OK;
}

void hwi_pool_give(struct hw_pool *pool, struct block *block)
{
  size_t size = block_size(block);
  pool->capacity_bytes += size;
  if (LIKELY(give_back(pool, block, size)))
    return;
  pool->used_count++; /* a block that nobody has */
  count_used(pool, size);
  report_fault(pool, HW_POOL_WRITTEN_AFTER_FREE, block_payload(block));
}

/* --- changing the size --- */

size_t hw_pool_usable_bytes(struct hw_pool *pool, void *payload)
{
  if (UNLIKELY(!payload))
    return 0;
  size_t size = used_size(pool, payload);
  if (LIKELY(size))
    return size - WORD;
  report_fault_of(pool, payload);
  return 0;
}

/* Splits off what a used block has beyond `size`; the header behind it is sound. False, as in give_back. */
static bool shrink(struct hw_pool *pool, struct block *block, size_t size)
{
  size_t have = block_size(block), rest_size = have - size;
  bool is_after_free = block_is_after_free(block);
  if (rest_size < MIN_BLOCK)
    return true;
  struct block *rest = block_at(block, size);
  size_t kept = rest->head; /* of the payload */
  set_used(pool, block, size, is_after_free);
  block_set_word(pool, rest, rest_size);
  if (LIKELY(give_back(pool, rest, rest_size))) {
    pool->below_peak_bytes += rest_size;
    return true;
  }
  set_used(pool, block, have, is_after_free);
  rest->head = kept;
  return false;
}

/* Adds to a used block what it needs of the free one behind it, which is large enough. False: that one was written to. */
static bool grow(struct hw_pool *pool, struct block *block, size_t size)
{
  size_t have = block_size(block);
  struct block *behind = block_at(block, have);
  size_t both = have + block_size(behind);
  if (UNLIKELY(!end_is_sound(pool, block, both, size) || !bin_remove(pool, behind)))
    return false;
  count_used(pool, carve(pool, block, both, size, block_is_after_free(block)) - have);
  return true;
}

bool hw_pool_resize(struct hw_pool *pool, void *payload, size_t bytes)
{
  size_t have = used_size(pool, payload);
  if (UNLIKELY(!have)) {
    report_fault_of(pool, payload);
    return false;
  }
  if (bytes > pool->largest_request)
    return false;
  size_t size = block_size_for(bytes);
  struct block *block = block_of_payload(payload), *behind = block_at(block, have);
  if (size > have && (!block_is_free(behind) || size - have > block_size(behind)))
    return false;
  if (LIKELY(size > have ? grow(pool, block, size) : shrink(pool, block, size)))
    return true;
  report_fault(pool, HW_POOL_WRITTEN_AFTER_FREE, block_payload(behind));
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
