/* glibc_lists.c - the lists in which glibc's malloc has a free block */
#include <stdlib.h>

#include "memory/heaps/glibc.h"

enum { SMALL_BINS = 62 /* behind the unsorted one */ };

/* Returns the bin whose head is at an address that links of chunks lead to, or NULL. */
static const char *bin_at(const struct hwi_glibc *glibc, uint64_t address)
{
  for (size_t i = 0; i < glibc->arena_count; i++) {
    const uint64_t off = address + glibc->sizes.header - glibc->arenas[i].bins;
    const uint64_t bin = off / (2 * glibc->sizes.word);
    if (off % (2 * glibc->sizes.word) == 0 && bin < HWI_GLIBC_BINS)
      return bin == 0 ? "the unsorted bin" : bin <= SMALL_BINS ? "a small bin" : "a large bin";
  }
  return NULL;
}

/* Follows the links from one free chunk to the next, up to the head of the list. */
static const char *bin_of(struct hwi_glibc *glibc, uint64_t block)
{
  struct hwi_glibc_ring ring = {0};
  uint64_t next = 0;
  while (hwi_memory_word(&glibc->reader, block, &next) && !hwi_glibc_is_ring(&ring, next)) {
    const char *bin = bin_at(glibc, next);
    if (bin)
      return bin;
    block = next + glibc->sizes.header;
  }
  return "no list: its links were written over";
}

static const char *cache_of(struct hwi_glibc *glibc, uint64_t block)
{
  for (size_t i = 0; i < glibc->cached_count; i++)
    if (glibc->cached[i] == block)
      return hwi_glibc_is_in_fast_bin(glibc, block) ? "a fast bin" : "a tcache";
  return NULL;
}

const char *hwi_glibc_list_of(const struct hwi_memory *memory, const struct hwi_core_block *block)
{
  struct hwi_glibc glibc = hwi_glibc_of(memory);
  struct hwi_core_heap unused = {0};
  const char *list = NULL;
  if (hwi_glibc_find_arenas(&glibc)) {
    hwi_glibc_find_settings(&glibc);
    if (hwi_core_block_state(block) == HWI_CORE_BLOCK_FREE)
      list = bin_of(&glibc, block->address);
    else if (hwi_core_block_state(block) == HWI_CORE_BLOCK_CACHED && hwi_glibc_find_cached(&glibc, &unused))
      list = cache_of(&glibc, block->address);
  }
  hwi_core_heap_release(&unused);
  hwi_glibc_release(&glibc);
  return list;
}
