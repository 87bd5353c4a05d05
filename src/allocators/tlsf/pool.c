/* pool.c - allocating and freeing blocks
 *
 * Two-level segregated fit. A request is met from the first bin whose blocks are all large enough (bins.h), and the
 * rest becomes a free block again. A freed block is merged with its free neighbours at once. Its header has a flag if
 * the block before it is free; the last word of that block then points to its beginning. The next block begins where
 * this one ends. There is no search, so each operation takes the same few dozen instructions in any state of the pool.
 * Since free neighbours are always merged, the pool is about as little fragmented as with best fit.
 *
 * The common paths of malloc and free are in hot.h; the others are here.
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

/* Returns the fault of an address that cannot be freed. */
static enum hw_pool_fault fault_of(const struct hw_pool *pool, const void *payload)
{
  const struct block *block = block_of_payload(payload);
  const struct region *region = pool_region(pool, block);
  if (!region || (uintptr_t)payload % ALIGN)
    return HW_POOL_FOREIGN;
  if (used_size(pool, payload))
    return HW_POOL_WRITTEN_AFTER_FREE; /* that of a neighbour */
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

/* --- allocating --- */

/* Returns the first block of the bin that bin_find finds, or NULL. */
static struct block *find_block(const struct hw_pool *pool, size_t size)
{
  size_t bin = bin_find(pool, size);
  return bin ? bin_link(pool, bin)->to : NULL;
}

/* Called when a request was not met: there is no block for it, or the block was overwritten, which is reported. Returns
 * NULL. */
static COLD void *report_unmet(struct hw_pool *pool, size_t bytes)
{
  struct block *block = bytes <= pool->largest_request ? find_block(pool, block_size_for(bytes)) : NULL;
  if (block)
    report_fault(pool, HW_POOL_WRITTEN_AFTER_FREE, block_payload(block));
  return NULL;
}

void *hw_pool_alloc(struct hw_pool *pool, size_t bytes)
{
  void *payload = pool_try_alloc(pool, bytes);
  return LIKELY(payload) ? payload : report_unmet(pool, bytes);
}

/* Returns true if `block` has room for an aligned block of `size` bytes. */
static bool has_room_for(const struct block *block, size_t align, size_t size)
{
  size_t off = aligned_off(block, align);
  return off <= block_size(block) && size <= block_size(block) - off;
}

/* The full search. A block of the requested size may happen to be aligned, or may have enough room to align the
 * payload. */
static size_t find_aligned(const struct hw_pool *pool, size_t align, size_t size)
{
  size_t bin = bin_find(pool, size), largest = pool->largest_request;
  if (!bin || has_room_for(bin_link(pool, bin)->to, align, size))
    return bin;
  return align > largest || size + ALIGN > largest - align ? 0 : bin_find(pool, unaligned_size(align, size));
}

static COLD void *alloc_aligned_otherwise(struct hw_pool *pool, size_t align, size_t bytes)
{
  if (bytes > pool->largest_request)
    return NULL;
  size_t size = block_size_for(bytes), bin = find_aligned(pool, align, size);
  void *payload = bin ? take_aligned(pool, bin, align, size) : NULL;
  if (bin && !payload)
    report_fault(pool, HW_POOL_WRITTEN_AFTER_FREE, block_payload(bin_link(pool, bin)->to));
  return payload;
}

void *hw_pool_alloc_aligned(struct hw_pool *pool, size_t align, size_t bytes)
{
  if (!align || (align & (align - 1)))
    return NULL;
  if (align <= ALIGN)
    return hw_pool_alloc(pool, bytes);
  void *payload = pool_try_alloc_aligned(pool, align, bytes);
  return LIKELY(payload) ? payload : alloc_aligned_otherwise(pool, align, bytes);
}

/* --- freeing --- */

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
  pool->used_count++; /* counts as used, though no caller has it */
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

/* Called when a block was not resized: reports the fault if there is one, and not just a lack of room. Returns
 * false. */
static COLD bool report_unchanged(struct hw_pool *pool, void *payload, size_t bytes)
{
  size_t have = used_size(pool, payload);
  if (!have) {
    report_fault_of(pool, payload);
    return false;
  }
  struct block *following = block_at(block_of_payload(payload), have);
  size_t room = have + (block_is_free(following) ? block_size(following) : 0);
  if (bytes <= pool->largest_request && block_size_for(bytes) <= room)
    report_fault(pool, HW_POOL_WRITTEN_AFTER_FREE, block_payload(following));
  return false;
}

bool hw_pool_resize(struct hw_pool *pool, void *payload, size_t bytes)
{
  return LIKELY(pool_try_resize(pool, payload, bytes)) || report_unchanged(pool, payload, bytes);
}

struct HWI_REUSED word {
  size_t bits;
};

/* Copies words, as payloads are whole words. The barrier keeps the compiler from calling memcpy, which may not
 * exist. */
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
