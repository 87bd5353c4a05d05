/* tcaches.c - finds the quantum, and the blocks in the caches of jemalloc's threads
 *
 * A tcache begins with the address of its slow part, which is near to it, and which has the addresses of the tcache and of its
 * first bin, and, unless its thread ended, that of an arena. A bin has a stack of blocks that grows down: the address of its head,
 * and the lowest 16 bits of that of its end. All stacks of a tcache are in one block, which begins with a word of 0x7a.
 */
#include "memory/heaps/jemalloc/jemalloc.h"

enum {
  WORD = 8,
  NEAR_BYTES = 65536,
  FIRST_BIN_OFF = 32, /* within the slow part */
  ARENA_OFF = 40,
  COUNTS_OFF = 52, /* three bytes for each small class; then the addresses of the stacks and of the tcache */
  BIN_BYTES = 24,
  BIN_END_OFF = 20,
  LARGE_BINS_MOST = 37,
};

/* --- the quantum --- */

enum { QUANTUM = 16, QUANTUM_REDIS = 8 };

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
  while (b) {
    const uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* Returns whether an extent has the size which follows from its class and the quantum: a slab has as many pages as leave no rest, a
 * large block has a page more or none. */
static bool fits(const struct hwi_jemalloc_extent *extent, uint64_t quantum)
{
  const uint64_t block = hwi_jemalloc_class_bytes(quantum, extent->class);
  if (extent->is_slab)
    return extent->class < hwi_jemalloc_small_count(quantum) &&
           extent->bytes == block / common_divisor(block, HWI_JEMALLOC_PAGE_BYTES) * HWI_JEMALLOC_PAGE_BYTES;
  return extent->bytes == block || extent->bytes == block + HWI_JEMALLOC_PAGE_BYTES;
}

static void find_quantum(struct hwi_jemalloc *jemalloc)
{
  uint64_t usual = 0, redis = 0;
  for (size_t i = 0; i < jemalloc->extent_count; i++)
    if (jemalloc->extents[i].state == HWI_JEMALLOC_ACTIVE) {
      usual += fits(&jemalloc->extents[i], QUANTUM);
      redis += fits(&jemalloc->extents[i], QUANTUM_REDIS);
    }
  jemalloc->quantum = redis > usual ? QUANTUM_REDIS : QUANTUM;
}

/* --- tcaches --- */

static bool add_bin(struct hwi_jemalloc *jemalloc, uint64_t bin)
{
  uint64_t head, word, block;
  if (!hwi_memory_word(&jemalloc->reader, bin, &head) || !head ||
      !hwi_memory_word(&jemalloc->reader, bin + BIN_BYTES - WORD, &word))
    return true;
  const unsigned shift = jemalloc->memory->swaps_bytes ? 16 : 8 * (BIN_END_OFF - (BIN_BYTES - WORD));
  const uint16_t end = (uint16_t)(word >> shift);
  for (uint16_t left = (uint16_t)(end - head); left >= WORD && jemalloc->steps_left;
       left = (uint16_t)(left - WORD), head += WORD, jemalloc->steps_left--)
    if (!hwi_memory_word(&jemalloc->nodes, head, &block))
      return true;
    else if (!hwi_kept_add(&jemalloc->kept, block, HWI_CORE_BLOCK_CACHED))
      return false;
  return true;
}

static unsigned stacks_off(const struct hwi_jemalloc *jemalloc)
{
  return (COUNTS_OFF + 3 * hwi_jemalloc_small_count(jemalloc->quantum) + WORD - 1) / WORD * WORD;
}

static bool is_tcache(struct hwi_jemalloc *jemalloc, uint64_t at, uint64_t slow, uint64_t *stacks)
{
  const uint64_t begin_of_stacks = 0x7a7a7a7a7a7a7a7a;
  uint64_t first_bin, tcache, arena, begin;
  return hwi_memory_word(&jemalloc->reader, slow + FIRST_BIN_OFF, &first_bin) && first_bin == at + WORD &&
         hwi_memory_word(&jemalloc->reader, slow + ARENA_OFF, &arena) && arena &&
         hwi_memory_word(&jemalloc->reader, slow + stacks_off(jemalloc), stacks) &&
         hwi_memory_word(&jemalloc->reader, slow + stacks_off(jemalloc) + WORD, &tcache) && tcache == at &&
         hwi_memory_word(&jemalloc->nodes, *stacks, &begin) && begin == begin_of_stacks;
}

static bool search_region(struct hwi_jemalloc *jemalloc, const struct hwi_region *region)
{
  const unsigned bins = hwi_jemalloc_small_count(jemalloc->quantum) + LARGE_BINS_MOST;
  bool done = true;
  for (uint64_t off = 0; off + WORD <= region->known && done; off += WORD) {
    const uint64_t at = region->begin + off, slow = hwi_memory_load(jemalloc->memory, region->bytes + off);
    uint64_t stacks;
    if (slow - at + NEAR_BYTES >= 2 * NEAR_BYTES || !is_tcache(jemalloc, at, slow, &stacks))
      continue;
    done = hwi_kept_add(&jemalloc->kept, stacks, HWI_CORE_BLOCK_OWN);
    for (unsigned i = 0; i < bins && done; i++)
      done = add_bin(jemalloc, at + WORD + (uint64_t)i * BIN_BYTES);
  }
  return done;
}

bool hwi_jemalloc_find_kept(struct hwi_jemalloc *jemalloc)
{
  const uint64_t steps = jemalloc->steps_left;
  bool done = true;
  find_quantum(jemalloc);
  for (size_t i = 0; i < jemalloc->memory->region_count && done; i++)
    if (jemalloc->memory->regions[i].is_writable)
      done = search_region(jemalloc, &jemalloc->memory->regions[i]);
  hwi_kept_sort(&jemalloc->kept);
  jemalloc->steps_left = steps;
  return done;
}
