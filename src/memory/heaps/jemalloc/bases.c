/* bases.c - finds the memory of jemalloc's own structures
 *
 * It begins with its size and the address of the next one. Then comes the description of what is not used of it yet, which must
 * end where it ends.
 */
#include "memory/heaps/jemalloc/jemalloc.h"
#include "trace/grow.h"

enum { WORD = 8, ALIGNMENT = 1 << 21, NEXT_OFF = 8, UNUSED_OFF = 24, UNUSED_BYTES_OFF = 32, HEAD_BYTES = 40 };

static bool is_base(const struct hwi_memory *memory, const unsigned char *bytes, uint64_t at, uint64_t most,
                    struct hwi_jemalloc_base *base)
{
  const uint64_t size = hwi_memory_load(memory, bytes), next = hwi_memory_load(memory, bytes + NEXT_OFF);
  const uint64_t unused = hwi_memory_load(memory, bytes + UNUSED_OFF);
  *base = (struct hwi_jemalloc_base){at, at + size, unused};
  return size && size % ALIGNMENT == 0 && size <= most && next % ALIGNMENT == 0 && unused - at >= HEAD_BYTES &&
         unused - at <= size && hwi_memory_load(memory, bytes + UNUSED_BYTES_OFF) == base->end - unused;
}

static bool search_region(struct hwi_jemalloc *jemalloc, const struct hwi_region *region)
{
  uint64_t at = (region->begin + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
  while (hwi_region_has(region, at, HEAD_BYTES)) {
    struct hwi_jemalloc_base base;
    if (!is_base(jemalloc->memory, region->bytes + (at - region->begin), at, region->end - at, &base)) {
      at += ALIGNMENT;
      continue;
    }
    if (!hwi_grow((void **)&jemalloc->bases, &jemalloc->base_capacity, jemalloc->base_count + 1, sizeof base))
      return false;
    jemalloc->bases[jemalloc->base_count++] = base;
    at = base.end;
  }
  return true;
}

bool hwi_jemalloc_find_bases(struct hwi_jemalloc *jemalloc)
{
  bool done = true;
  for (size_t i = 0; i < jemalloc->memory->region_count && done; i++) {
    const struct hwi_region *region = &jemalloc->memory->regions[i];
    if (region->is_writable && !region->file)
      done = search_region(jemalloc, region);
  }
  return done;
}

bool hwi_jemalloc_take_bases(const struct hwi_jemalloc *jemalloc, struct hwi_core_heap *heap)
{
  struct hwi_core_heap_part *part = hwi_core_heap_add_part(heap, HWI_CORE_JEMALLOC, "jemalloc's own memory", 0);
  bool done = part;
  for (size_t i = 0; i < jemalloc->base_count && done; i++) {
    const struct hwi_jemalloc_base *base = &jemalloc->bases[i];
    part->system_bytes += base->end - base->begin;
    part->understood_bytes += base->end - base->begin;
    done = hwi_core_heap_add_block(heap, part, base->begin, base->unused - base->begin, HWI_CORE_BLOCK_OWN) &&
           (base->unused == base->end ||
            hwi_core_heap_add_block(heap, part, base->unused, base->end - base->unused, HWI_CORE_BLOCK_TOP));
  }
  return done;
}
