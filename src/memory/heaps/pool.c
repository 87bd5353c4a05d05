/* pool.c - reads the pools of this project (allocators/tlsf/layout.h) from their tables
 *
 * A pool is recognized by the factor of its seals, and by what must be around it: its tables lead to its first region, which
 * begins directly behind them, and to the fence at the end of that. Every header is checked by its seal, or, where words of 4
 * bytes have no room for one, by what leads on from it. Behind a damaged header, the walk goes on where several blocks follow
 * each other soundly. Each region is a part; its sums are compared with those of the pool.
 *
 * What only looks like a pool may overlap others, and be damaged from end to end. So the steps of all pools together are limited
 * by the size of memory; sound ones need a fraction of that.
 */
#include "memory/heaps/pool.h"

#include <inttypes.h>
#include <stdio.h>

/* Words from the start of a pool. */
enum {
  AT_MAIN_UNITS = 1,
  AT_SEAL_FACTOR = 2,
  AT_PEAK = 3,
  AT_BELOW_PEAK = 4,
  AT_USED_COUNT = 5,
  AT_BIN_COUNT = 8,
  AT_REGIONS = 9,
  WORDS = 13, /* and one for each row */
  ROWS_64 = 39,
  ROWS_32 = 25,
  REGION_WORDS = 3, /* next, fence, limit */
  MIN_BLOCK_WORDS = 4,
  FLAG_FREE = 1,
  FLAG_AFTER_FREE = 2,
  FLAG_FENCE = 4,
  SEAL_BITS_64 = 16,
  SEAL_OF_AFTER_FREE = 0xa5c3,
  BLOCKS_TO_GO_ON = 4, /* so many sound blocks are needed to go on after damage */
  BLOCKS_TO_GO_ON_UNSEALED = 12,
  MOST_POOLS = 1 << 16,
  STEPS_FOR_A_UNIT = 4, /* of alignment */
};

static const uint64_t seal_factor = UINT64_C(0x9e3779b97f4a7c15);

/* Of all pools. */
struct search {
  struct hwi_core_heap *heap;
  const struct hwi_memory *memory;
  uint64_t steps_left;
  size_t pools;
};

struct pool {
  struct search *search;
  struct hwi_core_heap *heap;
  struct hwi_memory_reader reader;
  unsigned word, align, seal_bits;
  uint64_t address, first_region;  /* of the pool; of the region behind its tables */
  uint64_t used_bytes, used_count; /* as it counts them */
  struct hwi_core_heap_sum used;   /* with headers: what was found */
  bool is_damaged;
};

struct region {
  uint64_t address, next, fence, limit;
  size_t part;
};

struct block {
  uint64_t bytes; /* with the header */
  bool is_free, is_after_free, is_fence;
};

static bool read_word(struct pool *pool, uint64_t address, unsigned number, uint64_t *word)
{
  return hwi_memory_word(&pool->reader, address + (uint64_t)number * pool->word, word);
}

static uint64_t align_up(const struct pool *pool, uint64_t address)
{
  return (address + pool->align - 1) & ~(uint64_t)(pool->align - 1);
}

/* --- what a pool is --- */

static bool take_step(struct pool *pool)
{
  return pool->search->steps_left && pool->search->steps_left--;
}

/* Reads a region. */
static bool read_region(struct pool *pool, uint64_t address, struct region *region)
{
  *region = (struct region){.address = address};
  if (address % pool->align || !read_word(pool, address, 0, &region->next) ||
      !read_word(pool, address, 1, &region->fence) || !read_word(pool, address, 2, &region->limit))
    return false;
  const uint64_t first = address + REGION_WORDS * pool->word;
  return region->fence >= first + MIN_BLOCK_WORDS * pool->word && (region->fence + pool->word) % pool->align == 0 &&
         region->limit >= region->fence + pool->word && region->limit - region->fence < pool->word + pool->align &&
         hwi_memory_region(pool->reader.memory, region->fence);
}

/* Returns whether there is a pool at its address, and reads its figures. */
static bool is_pool(struct pool *pool)
{
  const bool is_64 = pool->word == sizeof(uint64_t);
  const uint64_t row = 8 * pool->word, rows = is_64 ? ROWS_64 : ROWS_32, at = pool->address;
  uint64_t units, peak, below, bins, first;
  struct region region;
  if (at % pool->align || !read_word(pool, at, AT_MAIN_UNITS, &units) || !read_word(pool, at, AT_PEAK, &peak) ||
      !read_word(pool, at, AT_BELOW_PEAK, &below) || !read_word(pool, at, AT_USED_COUNT, &pool->used_count) ||
      !read_word(pool, at, AT_BIN_COUNT, &bins) || !read_word(pool, at, AT_REGIONS, &first))
    return false;
  pool->used_bytes = peak - below;
  pool->first_region = align_up(pool, at + (WORDS + rows + bins) * pool->word);
  return bins && bins % row == 0 && bins <= rows * row && first == pool->first_region && below <= peak &&
         read_region(pool, first, &region) && units == (region.fence + pool->word - at) / pool->align;
}

/* --- blocks --- */

static uint64_t seal_of(const struct pool *pool, uint64_t address, uint64_t word)
{
  return ((address ^ word) * seal_factor) >> (64 - pool->seal_bits);
}

/* Reads the header at `at`. Returns false if it cannot be one. */
static bool read_block(struct pool *pool, const struct region *region, uint64_t at, struct block *block)
{
  uint64_t head;
  if (!hwi_memory_word(&pool->reader, at, &head))
    return false;
  block->is_after_free = head >> pool->seal_bits & FLAG_AFTER_FREE;
  if (block->is_after_free)
    head ^= (uint64_t)FLAG_AFTER_FREE << pool->seal_bits | (pool->seal_bits ? SEAL_OF_AFTER_FREE : 0);
  const uint64_t word = head >> pool->seal_bits, flags = word & (pool->align - 1);
  block->is_free = flags & FLAG_FREE;
  block->is_fence = flags & FLAG_FENCE;
  block->bytes = word & ~(uint64_t)(pool->align - 1);
  if (pool->seal_bits && (uint16_t)head != seal_of(pool, at, word))
    return false;
  if (at == region->fence)
    return flags == FLAG_FENCE && block->bytes == 0;
  return !(flags & ~(uint64_t)FLAG_FREE) && block->bytes >= MIN_BLOCK_WORDS * pool->word &&
         block->bytes <= region->fence - at && !(block->is_free && block->is_after_free);
}

/* Returns whether the links of a free block are whole: its footer, and what leads to it from its bin. */
static bool is_unwritten(struct pool *pool, uint64_t at, uint64_t bytes)
{
  uint64_t footer, from, to;
  return read_word(pool, at + bytes - pool->word, 0, &footer) && footer == at && read_word(pool, at, 2, &from) &&
         read_word(pool, from, 0, &to) && to == at;
}

/* Returns where sound blocks go on, or the fence. */
static uint64_t find_sound(struct pool *pool, const struct region *region, uint64_t at)
{
  const int needed = pool->seal_bits ? BLOCKS_TO_GO_ON : BLOCKS_TO_GO_ON_UNSEALED;
  for (at += pool->align; at < region->fence && take_step(pool); at += pool->align) {
    uint64_t next = at;
    struct block block = {0};
    bool was_free = false;
    int sound = 0;
    while (sound < needed && next < region->fence && read_block(pool, region, next, &block) &&
           (next == at || block.is_after_free == was_free)) {
      was_free = block.is_free;
      next += block.bytes;
      sound++;
    }
    if (sound == needed || (sound && next == region->fence))
      return at;
  }
  return region->fence;
}

static uint64_t step_over_damage(struct pool *pool, const struct region *region, uint64_t at)
{
  const uint64_t next = find_sound(pool, region, at);
  hwi_core_heap_note_damage(pool->heap, at,
                            "the header of the pool's block here was overwritten; %" PRIu64 " bytes are not understood",
                            next - at);
  pool->is_damaged = true;
  return next;
}

static bool take_block(struct pool *pool, const struct region *region, uint64_t at, const struct block *block)
{
  struct hwi_core_heap_part *part = &pool->heap->parts[region->part];
  if (block->is_free && !is_unwritten(pool, at, block->bytes)) {
    hwi_core_heap_note_damage(pool->heap, at + pool->word, "this free block of the pool was written to");
    pool->is_damaged = true;
  }
  if (!block->is_free) {
    pool->used.blocks++;
    pool->used.bytes += block->bytes;
  }
  part->understood_bytes += block->bytes;
  return hwi_core_heap_add_block(pool->heap, part, at + pool->word, block->bytes - pool->word,
                                 block->is_free ? HWI_CORE_BLOCK_FREE : HWI_CORE_BLOCK_LIVE);
}

/* Notes a header that says something else about the block before it than that block does. */
static void check_neighbour(struct pool *pool, uint64_t at, const struct block *block, bool was_free)
{
  if (block->is_after_free == was_free)
    return;
  hwi_core_heap_note_damage(pool->heap, at, "the pool's header here says that the block before it is %s, and it is not",
                            block->is_after_free ? "free" : "in use");
  pool->is_damaged = true;
}

static bool walk_region(struct pool *pool, const struct region *region)
{
  struct block block;
  bool was_free = false, is_known = true; /* the block before */
  for (uint64_t at = region->address + REGION_WORDS * pool->word; at < region->fence && take_step(pool);) {
    if (!read_block(pool, region, at, &block)) {
      at = step_over_damage(pool, region, at);
      is_known = false;
      continue;
    }
    if (is_known)
      check_neighbour(pool, at, &block, was_free);
    if (!take_block(pool, region, at, &block))
      return false;
    at += block.bytes;
    was_free = block.is_free;
    is_known = true;
  }
  if (read_block(pool, region, region->fence, &block)) {
    pool->heap->parts[region->part].understood_bytes += region->limit - region->fence;
    if (is_known)
      check_neighbour(pool, region->fence, &block, was_free);
  } else {
    hwi_core_heap_note_damage(pool->heap, region->fence, "the fence at the end of the pool's region was overwritten");
    pool->is_damaged = true;
  }
  return true;
}

/* --- pools --- */

static bool add_region(struct pool *pool, struct region *region)
{
  char name[sizeof pool->heap->parts->name];
  const bool is_first = region->address == pool->first_region;
  snprintf(name, sizeof name, "%s %#" PRIx64, is_first ? "pool" : "region of the pool,",
           is_first ? pool->address : region->address);
  const uint64_t begin = is_first ? pool->address : region->address;
  struct hwi_core_heap_part *part = hwi_core_heap_add_part(pool->heap, HWI_CORE_POOL, name, begin);
  if (!part)
    return false;
  part->own_bytes = region->address + REGION_WORDS * pool->word - begin;
  part->system_bytes = region->limit - begin;
  part->understood_bytes = part->own_bytes;
  part->is_piece = true;
  region->part = pool->heap->part_count - 1;
  return true;
}

/* Regions do not overlap, so that each is larger than what the list of a sound pool can have more of. */
static bool walk_pool(struct pool *pool)
{
  struct region region;
  const size_t first_part = pool->heap->part_count;
  for (uint64_t at = pool->first_region; at; at = region.next) {
    bool is_sound = read_region(pool, at, &region);
    for (size_t i = first_part; i < pool->heap->part_count && is_sound && take_step(pool); i++) {
      const struct hwi_core_heap_part *other = &pool->heap->parts[i];
      is_sound = region.limit <= other->address || region.address >= other->address + other->system_bytes;
    }
    if (!is_sound) {
      hwi_core_heap_note_damage(pool->heap, at, "here should be a region of the pool at %#" PRIx64, pool->address);
      return true;
    }
    if (!add_region(pool, &region) || !walk_region(pool, &region))
      return false;
  }
  if (!pool->is_damaged && (pool->used.blocks != pool->used_count || pool->used.bytes != pool->used_bytes))
    hwi_core_heap_note_damage(pool->heap, pool->address,
                              "the pool counts %" PRIu64 " blocks with %" PRIu64 " bytes in use, and has %" PRIu64
                              " with %" PRIu64,
                              pool->used_count, pool->used_bytes, pool->used.blocks, pool->used.bytes);
  return true;
}

/* A pool is at a multiple of its alignment, and has the factor in its third word. */
static bool search_region(struct search *search, const struct hwi_region *region)
{
  const struct hwi_memory *memory = search->memory;
  const unsigned word = memory->word_bytes, align = 2 * word, off = AT_SEAL_FACTOR * word;
  const uint64_t factor = word == sizeof(uint64_t) ? seal_factor : (uint32_t)seal_factor;
  for (uint64_t at = (region->begin + align - 1) & ~(uint64_t)(align - 1); hwi_region_has(region, at, off + word);
       at += align) {
    if (hwi_memory_load(memory, region->bytes + (at - region->begin) + off) != factor)
      continue;
    struct pool pool = {.search = search,
                        .heap = search->heap,
                        .reader = {.memory = memory},
                        .word = word,
                        .align = align,
                        .seal_bits = word == sizeof(uint64_t) ? SEAL_BITS_64 : 0,
                        .address = at};
    if (!is_pool(&pool))
      continue;
    if (++search->pools > MOST_POOLS) {
      hwi_core_heap_note_damage(search->heap, at, "from here on, pools are not read: there are more than %d",
                                MOST_POOLS);
      return true;
    }
    if (!walk_pool(&pool))
      return false;
  }
  return true;
}

int hwi_pool_find(struct hwi_core_heap *heap, const struct hwi_memory *memory, struct hwi_error *error)
{
  struct search search = {.heap = heap, .memory = memory};
  bool done = true;
  for (size_t i = 0; i < memory->region_count; i++)
    search.steps_left += memory->regions[i].known / (2 * memory->word_bytes) * STEPS_FOR_A_UNIT;
  for (size_t i = 0; i < memory->region_count && done && search.pools <= MOST_POOLS; i++)
    if (memory->regions[i].is_writable)
      done = search_region(&search, &memory->regions[i]);
  if (!done)
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory for the list of blocks; use a larger machine");
  return search.pools ? 0 : HW_ERR_USAGE;
}
