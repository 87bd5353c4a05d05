/* tcaches.c - finds the quantum, and the blocks in the caches of jemalloc's threads
 *
 * A tcache begins with the address of its slow part, which is near to it, and which has the addresses of the tcache and of its
 * first bin, and, unless its thread ended, that of an arena. A bin has a stack of blocks that grows down: the address of its head,
 * and the lowest 16 bits of that of its end. All stacks of a tcache are in one block, which begins with a word of 0x7a.
 */
#include <stdlib.h>

#include "memory/heaps/jemalloc/jemalloc.h"
#include "trace/table.h"

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

/* Returns whether a slab has the size which follows from the quantum: no rest is left over. */
static bool has_no_rest(const struct hwi_jemalloc_extent *slab, uint64_t quantum)
{
  const uint64_t block = hwi_jemalloc_class_bytes(quantum, slab->class);
  return slab->class < hwi_jemalloc_small_count(quantum) &&
         slab->bytes == block / common_divisor(block, HWI_JEMALLOC_PAGE_BYTES) * HWI_JEMALLOC_PAGE_BYTES;
}

static void find_quantum(struct hwi_jemalloc *jemalloc)
{
  uint64_t usual = 0, redis = 0;
  for (size_t i = 0; i < jemalloc->extent_count; i++) {
    const struct hwi_jemalloc_extent *extent = &jemalloc->extents[i];
    if (extent->state == HWI_JEMALLOC_ACTIVE && extent->is_slab) {
      usual += has_no_rest(extent, QUANTUM);
      redis += has_no_rest(extent, QUANTUM_REDIS);
    }
  }
  jemalloc->quantum = redis > usual ? QUANTUM_REDIS : QUANTUM;
}

/* --- tcaches --- */

static bool add_kept(struct hwi_jemalloc *jemalloc, uint64_t block, enum hwi_core_block_state state)
{
  if (!hwi_table_grow((void **)&jemalloc->kept, &jemalloc->kept_capacity, jemalloc->kept_count + 1,
                      sizeof *jemalloc->kept))
    return false;
  jemalloc->kept[jemalloc->kept_count++] = (struct hwi_jemalloc_kept){block, state, false};
  return true;
}

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
    else if (!add_kept(jemalloc, block, HWI_CORE_BLOCK_CACHED))
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
    done = add_kept(jemalloc, stacks, HWI_CORE_BLOCK_OWN);
    for (unsigned i = 0; i < bins && done; i++)
      done = add_bin(jemalloc, at + WORD + (uint64_t)i * BIN_BYTES);
  }
  return done;
}

static int compare(const void *a, const void *b)
{
  const struct hwi_jemalloc_kept *x = a, *y = b;
  return x->address < y->address ? -1 : x->address > y->address;
}

bool hwi_jemalloc_find_kept(struct hwi_jemalloc *jemalloc)
{
  const uint64_t steps = jemalloc->steps_left;
  bool done = true;
  find_quantum(jemalloc);
  for (size_t i = 0; i < jemalloc->memory->region_count && done; i++)
    if (jemalloc->memory->regions[i].is_writable)
      done = search_region(jemalloc, &jemalloc->memory->regions[i]);
  if (jemalloc->kept_count)
    qsort(jemalloc->kept, jemalloc->kept_count, sizeof *jemalloc->kept, compare);
  jemalloc->steps_left = steps;
  return done;
}
