/* inspect.c - statistics of a pool, and the check of its consistency */
#include "allocators/tlsf/bins.h"
#include "allocators/tlsf/layout.h"
#include "heapwright/pool.h"

const char *hw_pool_fault_text(enum hw_pool_fault fault)
{
  switch (fault) {
  case HW_POOL_OK:
    return "no fault";
  case HW_POOL_FOREIGN:
    return "not an address of this pool";
  case HW_POOL_NOT_A_BLOCK:
    return "no block begins there, or its header was overwritten";
  case HW_POOL_FREED:
    return "the block is free already";
  case HW_POOL_OVERRUN:
    return "something wrote past the end of the block";
  case HW_POOL_WRITTEN_AFTER_FREE:
    return "a free block was written to";
  case HW_POOL_MISCOUNTED:
    return "blocks and figures do not add up";
  }
  return "unknown fault";
}

/* --- statistics --- */

void hw_pool_get_stats(const struct hw_pool *pool, struct hw_pool_stats *stats)
{
  const struct block *largest = bin_highest(pool);
  size_t largest_bytes = largest ? block_size(largest) : 0;
  size_t free_bytes = pool->capacity_bytes - pool_used_bytes(pool);
  stats->capacity_bytes = pool->capacity_bytes;
  stats->used_bytes = pool_used_bytes(pool);
  stats->peak_bytes = pool->peak_bytes;
  stats->free_bytes = free_bytes;
  stats->largest_free_bytes = largest ? largest_bytes - WORD : 0;
  stats->block_count = pool->used_count;
  stats->fault_count = pool->fault_count;
  stats->region_count = 0;
  for (const struct region *region = pool->regions; region; region = region->next)
    stats->region_count++;
  size_t unit = free_bytes / 1000; /* divided first, to avoid an overflow */
  size_t permille = unit         ? (free_bytes - largest_bytes) / unit
                    : free_bytes ? (free_bytes - largest_bytes) * 1000 / free_bytes
                                 : 0;
  stats->fragmentation_permille = permille < 1000 ? (unsigned)permille : 1000;
}

/* --- the walk --- */

/* Returns true if the header is valid, so that it gives the start of the next block. */
static bool leads_on(const struct hw_pool *pool, const struct region *region, const struct block *block)
{
  size_t size = block_size(block);
  return block_is_sealed(pool, block) && size >= MIN_BLOCK && size <= (uintptr_t)region->fence - (uintptr_t)block;
}

void hw_pool_walk(const struct hw_pool *pool, hw_pool_visit_fn *visit, void *context)
{
  for (const struct region *region = pool->regions; region; region = region->next)
    for (const struct block *block = region_first(region); block != region->fence;
         block = block_at(block, block_size(block)))
      if (!leads_on(pool, region, block) ||
          !visit(context, block_payload(block), block_size(block) - WORD, !block_is_free(block)))
        return;
}

/* --- the check --- */

struct census {
  size_t used_bytes, used_count, free_count, capacity_bytes;
};

static bool found(struct hw_pool_damage *damage, enum hw_pool_fault fault, const struct block *block)
{
  if (damage) {
    damage->fault = fault;
    damage->address = block ? block_payload(block) : NULL;
  }
  return false;
}

/* Counts the blocks of a region, and checks each block's AFTER_FREE against the block before it. */
static bool region_is_valid(const struct hw_pool *pool, const struct region *region, struct census *census,
                            struct hw_pool_damage *damage)
{
  const struct block *block = region_first(region), *front = NULL;
  while (block != region->fence) {
    if (!leads_on(pool, region, block))
      return found(damage, HW_POOL_NOT_A_BLOCK, block);
    bool is_free = block_is_free(block), is_after_free = block_is_after_free(block);
    if (is_after_free != (front && block_is_free(front)) || (is_free && is_after_free))
      return found(damage, HW_POOL_MISCOUNTED, block);
    if (is_free && block_footer(block, block_size(block))->to != block)
      return found(damage, HW_POOL_WRITTEN_AFTER_FREE, block);
    census->capacity_bytes += block_size(block);
    census->used_bytes += is_free ? 0 : block_size(block);
    census->used_count += !is_free;
    census->free_count += is_free;
    front = block;
    block = block_at(block, block_size(block));
  }
  bool is_after_free = block_is_after_free(block);
  if (!block_is_sealed(pool, block) || block_size(block) || is_after_free != (front && block_is_free(front)))
    return found(damage, HW_POOL_NOT_A_BLOCK, block);
  return true;
}

/* Checks that every block of the bin is free, of the right size, and linked both ways. Subtracts their number from
 * *left, which must be large enough. */
static bool bin_is_valid(const struct hw_pool *pool, size_t bin, size_t *left, struct hw_pool_damage *damage)
{
  const struct link *from = bin_link(pool, bin);
  for (const struct block *block; (block = from->to); from = &block->next) {
    const struct region *region = pool_region(pool, block);
    if (!region || (uintptr_t)block_payload(block) % ALIGN || !leads_on(pool, region, block) || !block_is_free(block) ||
        block->from != from || bin_of(block_size(block)) != bin)
      return found(damage, HW_POOL_WRITTEN_AFTER_FREE, block);
    if (!*left)
      return found(damage, HW_POOL_MISCOUNTED, block);
    --*left;
  }
  return true;
}

/* Checks that the row's bits agree with which of its bins have blocks. */
static bool row_is_valid(const struct hw_pool *pool, size_t row, size_t *left, struct hw_pool_damage *damage)
{
  size_t filled = pool->filled[row];
  for (size_t i = 0; i < WORD_BITS; i++) {
    size_t bin = (row << WORD_BITS_LOG2) + i;
    const struct block *first = bin_link(pool, bin)->to;
    if (!(filled >> i & 1) != !first)
      return found(damage, HW_POOL_MISCOUNTED, first);
    if (!bin_is_valid(pool, bin, left, damage))
      return false;
  }
  return !(pool->rows_filled >> row & 1) == !filled || found(damage, HW_POOL_MISCOUNTED, NULL);
}

bool hw_pool_is_valid(const struct hw_pool *pool, struct hw_pool_damage *damage)
{
  struct census census; /* no initializer: compilers would call memset for it */
  census.used_bytes = census.used_count = census.free_count = census.capacity_bytes = 0;
  for (const struct region *region = pool->regions; region; region = region->next)
    if (!region_is_valid(pool, region, &census, damage))
      return false;
  size_t left = census.free_count;
  for (size_t row = 0; row < pool->bin_count / WORD_BITS; row++)
    if (!row_is_valid(pool, row, &left, damage))
      return false;
  if (left || census.used_bytes != pool_used_bytes(pool) || census.used_count != pool->used_count ||
      census.capacity_bytes != pool->capacity_bytes || pool->below_peak_bytes > pool->peak_bytes)
    return found(damage, HW_POOL_MISCOUNTED, NULL);
  return true;
}
