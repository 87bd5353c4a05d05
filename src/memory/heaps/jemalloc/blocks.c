/* blocks.c - the blocks in the extents of jemalloc's arenas
 *
 * A slab says how many of its blocks are free, and has a map of them: both must agree. A slab of which that is not so is damaged,
 * and not understood. What a tcache keeps must be a block that is used by its slab, and be kept only once. A thread that is inside of
 * jemalloc changes the map before the number, and frees blocks before they leave its tcache: then the map counts, and nothing of this
 * is damage.
 */
#include <stdio.h>

#include "memory/heaps/jemalloc/jemalloc.h"

enum { WORD = 8, WORD_BITS = 64, MAP_OFF = 64 /* within the description of a slab */ };

struct taking {
  struct hwi_jemalloc *jemalloc;
  struct hwi_core_heap *heap;
  struct hwi_core_heap_part *part; /* the arena's */
};

static bool add_block(const struct taking *taking, uint64_t address, uint64_t bytes, enum hwi_core_block_state state)
{
  if (!taking->jemalloc->blocks_left)
    return true;
  taking->jemalloc->blocks_left--;
  return hwi_core_heap_add_block(taking->heap, taking->part, address, bytes, state);
}

static bool is_free(const struct hwi_jemalloc *jemalloc, const unsigned char *map, unsigned i)
{
  return hwi_memory_load(jemalloc->memory, map + i / WORD_BITS * WORD) >> i % WORD_BITS & 1;
}

/* Returns the map of a slab of so many blocks, or NULL if it cannot be right. */
static const unsigned char *sound_map(struct hwi_jemalloc *jemalloc, const struct hwi_jemalloc_extent *slab,
                                      uint64_t count)
{
  const unsigned char *map =
      hwi_memory_bytes(&jemalloc->reader, slab->at + MAP_OFF, HWI_JEMALLOC_SLAB_BLOCKS_MOST / WORD);
  if (!map || count == 0 || count > HWI_JEMALLOC_SLAB_BLOCKS_MOST)
    return NULL;
  unsigned free_count = 0;
  for (unsigned i = 0; i < count; i++)
    free_count += is_free(jemalloc, map, i);
  return free_count == slab->free_count || jemalloc->is_changing ? map : NULL;
}

static bool take_slab(const struct taking *taking, const struct hwi_jemalloc_extent *slab)
{
  struct hwi_jemalloc *jemalloc = taking->jemalloc;
  const bool is_small = slab->class < hwi_jemalloc_small_count(jemalloc->quantum);
  const uint64_t block_bytes = is_small ? hwi_jemalloc_class_bytes(jemalloc->quantum, slab->class) : slab->bytes;
  const uint64_t count = is_small ? slab->bytes / block_bytes : 0;
  const unsigned char *map = sound_map(jemalloc, slab, count);
  bool done = true;
  if (!map) {
    hwi_core_heap_note_damage(taking->heap, slab->address,
                              "the slab here has size class %u and %u free blocks, which its map at %#llx contradicts",
                              slab->class, slab->free_count, (unsigned long long)(slab->at + MAP_OFF));
    return true;
  }
  taking->part->understood_bytes += slab->bytes;
  for (unsigned i = 0; i < count && done; i++) {
    const uint64_t block = slab->address + i * block_bytes;
    done = add_block(taking, block, block_bytes,
                     is_free(jemalloc, map, i) ? HWI_CORE_BLOCK_FREE : hwi_kept_state(&taking->jemalloc->kept, block));
  }
  return done;
}

static bool take_large(const struct taking *taking, const struct hwi_jemalloc_extent *large)
{
  const uint64_t room = large->bytes - large->address % HWI_JEMALLOC_PAGE_BYTES;
  const uint64_t bytes = hwi_jemalloc_class_bytes(taking->jemalloc->quantum, large->class);
  if (bytes == 0 || bytes > room) {
    if (!taking->jemalloc->is_changing)
      hwi_core_heap_note_damage(taking->heap, large->address,
                                "the block here cannot have size class %u: its extent has %llu bytes", large->class,
                                (unsigned long long)large->bytes);
    return true;
  }
  taking->part->understood_bytes += large->bytes;
  return add_block(taking, large->address, bytes, hwi_kept_state(&taking->jemalloc->kept, large->address));
}

static bool take_extent(const struct taking *taking, const struct hwi_jemalloc_extent *extent)
{
  taking->part->system_bytes += extent->bytes;
  if (extent->state == HWI_JEMALLOC_ACTIVE)
    return extent->is_slab ? take_slab(taking, extent) : take_large(taking, extent);
  taking->part->understood_bytes += extent->bytes;
  return add_block(taking, extent->address, extent->bytes, HWI_CORE_BLOCK_FREE);
}

static struct hwi_core_heap_part *add_arena(struct hwi_core_heap *heap, unsigned arena)
{
  char name[sizeof heap->parts->name];
  snprintf(name, sizeof name, "jemalloc arena %u", arena);
  return hwi_core_heap_add_part(heap, HWI_CORE_JEMALLOC, name, 0);
}

/* Memory of no known arena. */
static bool add_unsound(struct hwi_core_heap *heap, const char *name, uint64_t bytes)
{
  struct hwi_core_heap_part *part = bytes ? hwi_core_heap_add_part(heap, HWI_CORE_JEMALLOC, name, 0) : NULL;
  if (part)
    part->system_bytes = bytes;
  return part || !bytes;
}

bool hwi_jemalloc_take_blocks(struct hwi_jemalloc *jemalloc, struct hwi_core_heap *heap)
{
  struct taking taking = {jemalloc, heap, NULL};
  unsigned arena = 0;
  for (size_t i = 0; i < jemalloc->extent_count; i++) {
    const struct hwi_jemalloc_extent *extent = &jemalloc->extents[i];
    if (extent->state == HWI_JEMALLOC_RETAINED)
      continue;
    if (!taking.part || extent->arena != arena)
      taking.part = add_arena(heap, arena = extent->arena);
    if (!taking.part || !take_extent(&taking, extent))
      return false;
  }
  if (!jemalloc->is_changing)
    hwi_kept_note_damage(&jemalloc->kept, heap);
  return add_unsound(heap, jemalloc->is_changing ? "jemalloc, in change" : "jemalloc, damaged",
                     jemalloc->damaged_bytes);
}
