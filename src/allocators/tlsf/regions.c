/* regions.c - the memory of a pool: its initial region, and its growth
 *
 * The last word of a region is a fence, the header of a block of size 0, so that every block is followed by a header.
 * When memory is added after a region, its fence becomes the header of a free block. When two regions adjoin, the lower
 * one's fence becomes the header of a block that extends over the upper one's struct region to its first block.
 *
 * The first region of the list is the one after the pool's tables. It is never merged into a lower region, since the
 * tables are below it.
 */
#include "allocators/tlsf/bins.h"
#include "heapwright/pool.h"

/* Bytes that a region needs in addition to its blocks, in whole ALIGNs. */
enum { REGION_BYTES = (int)sizeof(struct region) + WORD };

#ifdef __cplusplus
static_assert(REGION_BYTES == 2 * ALIGN, "a fence and a struct region make a block");
#else
_Static_assert(REGION_BYTES == 2 * ALIGN, "a fence and a struct region make a block");
#endif

static inline uintptr_t align_up(uintptr_t at)
{
  return (at + ALIGN - 1) & ~(uintptr_t)(ALIGN - 1);
}

static inline uintptr_t align_down(uintptr_t at)
{
  return at & ~(uintptr_t)(ALIGN - 1);
}

/* Makes the last word before `end` a fence. `end` must be aligned. */
static struct block *make_fence(const struct hw_pool *pool, uintptr_t end)
{
  struct block *fence = (struct block *)(end - WORD);
  block_set_word(pool, fence, BLOCK_FENCE);
  return fence;
}

/* Sets the end of a region. */
static void set_end(struct hw_pool *pool, struct region *region, struct block *fence, uintptr_t limit)
{
  region->fence = fence;
  region->limit = limit;
  if (region == pool->regions)
    pool->main_units = ((uintptr_t)fence + WORD - (uintptr_t)pool) / ALIGN;
}

/* Frees the memory from `block` to `end`, which is a fence or the first block of another region. */
static void give(struct hw_pool *pool, struct block *block, const struct block *end, bool is_after_free)
{
  block_set_word(pool, block, (uintptr_t)end - (uintptr_t)block);
  if (is_after_free)
    block_turn_after_free(block);
  hwi_pool_give(pool, block);
}

/* Returns true if the memory is enough for a region. `start` must be aligned. */
static bool is_enough(uintptr_t start, uintptr_t limit)
{
  uintptr_t end = align_down(limit);
  return end >= start && end - start >= REGION_BYTES + MIN_BLOCK;
}

/* Makes a new region; *link is the end of the list. */
static struct region *make_region(struct hw_pool *pool, struct region **link, uintptr_t start, uintptr_t limit)
{
  struct region *region = (struct region *)start;
  region->next = NULL;
  *link = region;
  set_end(pool, region, make_fence(pool, align_down(limit)), limit);
  give(pool, region_first(region), region->fence, false);
  return region;
}

/* Moves the region's end. Returns false if that adds less than a block. */
static bool extend(struct hw_pool *pool, struct region *region, uintptr_t limit)
{
  struct block *fence = region->fence;
  uintptr_t end = align_down(limit);
  if (end - WORD - (uintptr_t)fence < MIN_BLOCK)
    return false;
  bool is_after_free = block_is_after_free(fence);
  set_end(pool, region, make_fence(pool, end), limit);
  give(pool, fence, region->fence, is_after_free);
  return true;
}

/* Merges two adjoining regions; removes the upper one from the list. */
static void join(struct hw_pool *pool, struct region *lower, struct region *upper)
{
  struct region **link = &pool->regions;
  while (*link != upper)
    link = &(*link)->next;
  *link = upper->next;
  struct block *fence = lower->fence;
  set_end(pool, lower, upper->fence, upper->limit);
  give(pool, fence, region_first(upper), block_is_after_free(fence));
}

static size_t largest_region_bytes(const struct hw_pool *pool)
{
  return pool->largest_request + REGION_BYTES + WORD;
}

static bool fits_with(const struct hw_pool *pool, const struct region *region, size_t bytes)
{
  size_t have = region->limit - (uintptr_t)region;
  return bytes <= largest_region_bytes(pool) && have <= largest_region_bytes(pool) - bytes;
}

/* The existing regions near new memory from `start` to `limit`. */
struct neighbours {
  struct region *lower, *upper; /* adjoining; NULL: none */
  struct region **end;          /* of the list */
  bool overlap;
};

static void find_neighbours(const struct hw_pool *pool, uintptr_t start, uintptr_t limit, struct neighbours *found)
{
  found->lower = found->upper = NULL;
  found->end = NULL;
  found->overlap = start < (uintptr_t)region_first(pool->regions) && limit > (uintptr_t)pool; /* the pool's tables */
  for (struct region *region = pool->regions; region; region = region->next) {
    found->overlap |= start < region->limit && limit > (uintptr_t)region;
    if (region->limit == start)
      found->lower = region;
    if ((uintptr_t)region == limit)
      found->upper = region;
    found->end = &region->next;
  }
}

bool hw_pool_add_region(struct hw_pool *pool, void *memory, size_t bytes)
{
  uintptr_t start = (uintptr_t)memory, limit = start + bytes;
  struct neighbours found;
  if (!start || limit < start || bytes > largest_region_bytes(pool))
    return false;
  find_neighbours(pool, start, limit, &found);
  if (found.overlap)
    return false;
  struct region *region = found.lower;
  if (region && fits_with(pool, region, bytes)) {
    if (!extend(pool, region, limit))
      return false;
  } else {
    if (!is_enough(align_up(start), limit))
      return false;
    region = make_region(pool, found.end, align_up(start), limit);
  }
  if (found.upper && fits_with(pool, region, found.upper->limit - limit))
    join(pool, region, found.upper);
  return true;
}

static void clear_words(void *at, const void *end)
{
  for (size_t *word = (size_t *)at; word < (const size_t *)end; word++) {
    *word = 0;
    __asm__ volatile("" : : : "memory"); /* keeps the compiler from calling memset, which may not exist */
  }
}

struct hw_pool *hw_pool_init(void *memory, size_t bytes, size_t largest_bytes)
{
  uintptr_t start = align_up((uintptr_t)memory), limit = (uintptr_t)memory + bytes;
  largest_bytes = largest_bytes > bytes ? largest_bytes : bytes;
  largest_bytes = largest_bytes < LARGEST_SIZE ? largest_bytes : LARGEST_SIZE;
  size_t bin_count = bin_of_all(largest_bytes);
  bin_count = (bin_count + WORD_BITS) & ~(size_t)(WORD_BITS - 1); /* whole rows */
  uintptr_t first = align_up(start + sizeof(struct hw_pool) + bin_count * sizeof(struct link));
  if (!memory || limit < start || bytes > largest_bytes || !is_enough(first, limit))
    return NULL;
  struct hw_pool *pool = (struct hw_pool *)start;
  clear_words(pool, pool_bins(pool) + bin_count);
  pool->bin_count = bin_count;
  pool->seal_factor = SEAL_FACTOR;
  pool->largest_request = largest_bytes - REGION_BYTES - WORD;
  make_region(pool, &pool->regions, first, limit);
  return pool;
}

void hw_pool_on_fault(struct hw_pool *pool, hw_pool_fault_fn *handler, void *context)
{
  pool->on_fault = handler;
  pool->fault_context = context;
}

bool hw_pool_owns(const struct hw_pool *pool, const void *address)
{
  return pool_region(pool, address);
}
