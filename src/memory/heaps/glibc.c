/* glibc.c - the heap of the GNU C library's malloc */
#include "memory/heaps/glibc.h"

#include <stdlib.h>

#include "trace/table.h"

static struct hwi_glibc_sizes sizes_of(const struct hwi_memory *memory)
{
  const unsigned word = memory->word_bytes;
  return (struct hwi_glibc_sizes){.word = word, .header = 2 * word, .alignment = 16, .least = 4 * word};
}

static bool find_all(struct hwi_glibc *glibc, struct hwi_core_heap *heap)
{
  hwi_glibc_find_settings(glibc);
  return hwi_glibc_find_cached(glibc, heap) && hwi_glibc_walk(glibc, heap) && hwi_glibc_find_mapped(glibc, heap);
}

static void release(struct hwi_glibc *glibc)
{
  free(glibc->arenas);
  free(glibc->ranges);
  hwi_table_release(glibc->cached, glibc->cached_capacity * sizeof *glibc->cached);
  hwi_table_release(glibc->caches, glibc->cache_capacity * sizeof *glibc->caches);
}

int hwi_glibc_find(struct hwi_core_heap *heap, const struct hwi_memory *memory, struct hwi_error *error)
{
  struct hwi_glibc glibc = {.memory = memory, .reader = {.memory = memory}, .sizes = sizes_of(memory)};
  int status = 0;
  if (!hwi_glibc_find_arenas(&glibc))
    status = hwi_error_set(error, HW_ERR_USAGE,
                           "no heap was found: there is no arena of glibc's malloc in this memory"
                           "; another malloc is read only with libheapwright-annotate.so");
  else if (!find_all(&glibc, heap))
    status = hwi_error_set(error, HW_ERR_MEMORY, "no memory for the list of blocks; use a larger machine");
  heap->allocator = "glibc";
  release(&glibc);
  return status;
}
