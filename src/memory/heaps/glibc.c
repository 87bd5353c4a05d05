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
  hwi_glibc_check_bins(glibc, heap);
  return hwi_glibc_find_cached(glibc, heap) && hwi_glibc_walk(glibc, heap) && hwi_glibc_find_mapped(glibc, heap);
}

/* A step takes as long as reading a few words. */
static void limit_work(struct hwi_glibc *glibc)
{
  enum { STEPS_LEAST = 1 << 20, BYTES_OF_STEP = 4 };
  const uint64_t known = hwi_memory_known_bytes(glibc->memory);
  glibc->steps_left = STEPS_LEAST + known / BYTES_OF_STEP;
  glibc->cached_most = known / glibc->sizes.least;
}

void hwi_glibc_release(struct hwi_glibc *glibc)
{
  free(glibc->arenas);
  free(glibc->ranges);
  hwi_table_release(glibc->cached, glibc->cached_capacity * sizeof *glibc->cached);
  hwi_table_release(glibc->caches, glibc->cache_capacity * sizeof *glibc->caches);
}

struct hwi_glibc hwi_glibc_of(const struct hwi_memory *memory)
{
  struct hwi_glibc glibc = {.memory = memory, .reader = {.memory = memory}, .sizes = sizes_of(memory)};
  limit_work(&glibc);
  return glibc;
}

/* A process on another malloc still has glibc's. Returns whether it was not used; then nothing of it is left in the heap. */
static bool take_out_unused(struct hwi_core_heap *heap, size_t first_part, size_t first_block)
{
  uint64_t system = 0;
  for (size_t i = first_part; i < heap->part_count; i++)
    system += heap->parts[i].system_bytes;
  if (system == 0) {
    heap->part_count = first_part;
    heap->block_count = first_block;
  }
  return system == 0;
}

int hwi_glibc_find(struct hwi_core_heap *heap, const struct hwi_memory *memory, struct hwi_error *error)
{
  struct hwi_glibc glibc = hwi_glibc_of(memory);
  const size_t first_part = heap->part_count, first_block = heap->block_count;
  int status = 0;
  if (!hwi_glibc_find_arenas(&glibc)) {
    status = HW_ERR_USAGE;
  } else if (!find_all(&glibc, heap)) {
    status = hwi_error_set(error, HW_ERR_MEMORY, "no memory for the list of blocks; use a larger machine");
  } else if (take_out_unused(heap, first_part, first_block)) {
    status = hwi_error_set(error, HW_ERR_USAGE, "glibc's malloc is there, but was not used");
  }
  hwi_glibc_release(&glibc);
  return status;
}
