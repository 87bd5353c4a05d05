/* glibc_mapped.c - finds the chunks of glibc's malloc that are mapped alone
 *
 * Such a chunk fills whole pages of a mapping without a file. It begins with a page, or, if more alignment was asked for,
 * later; then its first word says how much later, and what looks like a chunk at the page is what it was cut from. Its flags
 * are exactly "mapped". The kernel joins neighbouring mappings, so that a region may have many. The library counts these chunks and their bytes, which shows whether all were found.
 */
#include <stdlib.h>

#include "memory/heaps/glibc.h"

enum { ALIGNMENT_MOST = 1 << 26 /* of blocks that were moved */ };

struct search {
  struct hwi_glibc *glibc;
  struct hwi_core_heap *heap;
  size_t part;
};

/* Returns whether a chunk at `at` may begin `before` bytes behind the start of its pages. */
static bool is_mapped(struct hwi_glibc *glibc, uint64_t at, uint64_t before, uint64_t end, uint64_t *size)
{
  uint64_t first;
  if (!hwi_memory_word(&glibc->reader, at, &first) || first != before || !hwi_glibc_size(glibc, at, size) ||
      (*size & HWI_GLIBC_FLAGS) != HWI_GLIBC_IS_MAPPED)
    return false;
  *size &= ~(uint64_t)HWI_GLIBC_FLAGS;
  return *size >= glibc->sizes.least && (*size + before) % HWI_MEMORY_PAGE_BYTES == 0 && *size <= end - at;
}

/* Returns the chunk whose pages begin at `page`, or 0. */
static uint64_t chunk_of(struct hwi_glibc *glibc, uint64_t page, uint64_t end, uint64_t *size)
{
  const uint64_t header = glibc->sizes.header;
  for (uint64_t alignment = 2 * header; alignment <= end - page && alignment; alignment *= 2) {
    const uint64_t block = (page + header + alignment - 1) / alignment * alignment;
    if (block - header < end && is_mapped(glibc, block - header, block - header - page, end, size))
      return block - header;
  }
  if (!is_mapped(glibc, page, 0, end, size))
    return 0;
  uint64_t moved_size;
  for (uint64_t off = HWI_MEMORY_PAGE_BYTES; off < *size && off <= ALIGNMENT_MOST; off += HWI_MEMORY_PAGE_BYTES)
    if (is_mapped(glibc, page + off - header, off - header, end, &moved_size)) {
      *size = moved_size;
      return page + off - header;
    }
  return page;
}

static int compare(const void *a, const void *b)
{
  const struct hwi_glibc_range *x = a, *y = b;
  return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* The page of a range's first chunk is the range's. Returns the end of the range that has the page, or 0. */
static uint64_t end_of_range(const struct search *search, uint64_t page)
{
  const struct hwi_glibc *glibc = search->glibc;
  size_t low = 0, high = glibc->range_count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (glibc->ranges[middle].end <= page)
      low = middle + 1;
    else
      high = middle;
  }
  return low < glibc->range_count && glibc->ranges[low].begin < page + HWI_MEMORY_PAGE_BYTES ? glibc->ranges[low].end
                                                                                             : 0;
}

/* The end of a chunk need not be in the image. */
static bool search_region(struct search *search, const struct hwi_region *region)
{
  struct hwi_glibc *glibc = search->glibc;
  uint64_t size;
  for (uint64_t page = region->begin; page < region->begin + region->known;) {
    const uint64_t range_end = end_of_range(search, page);
    const uint64_t chunk = range_end ? 0 : chunk_of(glibc, page, region->end, &size);
    if (!chunk) {
      page = range_end ? (range_end + HWI_MEMORY_PAGE_BYTES - 1) / HWI_MEMORY_PAGE_BYTES * HWI_MEMORY_PAGE_BYTES
                       : page + HWI_MEMORY_PAGE_BYTES;
      continue;
    }
    struct hwi_core_heap_part *part = &search->heap->parts[search->part];
    if (!hwi_core_heap_add_block(search->heap, part, chunk + glibc->sizes.header, size - glibc->sizes.header,
                                 HWI_CORE_BLOCK_LIVE))
      return false;
    part->understood_bytes += chunk + size - page;
    page = chunk + size;
  }
  return true;
}

static bool search_all(struct search *search)
{
  struct hwi_glibc *glibc = search->glibc;
  bool done = true;
  for (size_t i = 0; i < glibc->memory->region_count && done; i++) {
    const struct hwi_region *region = &glibc->memory->regions[i];
    if (region->is_writable && !region->file)
      done = search_region(search, region);
  }
  return done;
}

bool hwi_glibc_find_mapped(struct hwi_glibc *glibc, struct hwi_core_heap *heap)
{
  const struct hwi_glibc_settings *settings = &glibc->settings;
  struct hwi_core_heap_part *part = hwi_core_heap_add_part(heap, HWI_CORE_GLIBC, "mapped blocks", 0);
  struct search search = {glibc, heap, heap->part_count - 1};
  if (glibc->range_count)
    qsort(glibc->ranges, glibc->range_count, sizeof *glibc->ranges, compare);
  const bool done = part && search_all(&search);
  if (!done)
    return false;
  part = &heap->parts[search.part];
  part->system_bytes = settings->is_found ? settings->mapped_bytes : part->understood_bytes;
  return true;
}
