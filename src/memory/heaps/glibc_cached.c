/* glibc_cached.c - the free blocks of glibc's malloc that look used: those of fast bins and tcaches
 *
 * A tcache is a chunk of a known size: numbers of 16 bits, one for each size of blocks, then the first block of each list.
 * Its thread has a pointer to it in thread-local storage, which is below the thread pointer. Since 2.42 the numbers say how
 * much room is left, and there are more sizes; both are tried. Whether links are protected is found by following one: only
 * one of the two readings leads to a block.
 */
#include <stdlib.h>

#include "memory/heaps/glibc.h"
#include "trace/table.h"

enum {
  SIZES = 64,          /* of a tcache */
  SIZES_SINCE_42 = 76, /* with large ones */
  PAGE_SHIFT = 12,     /* of protected links */
  LOCAL_BYTES = 65536, /* of thread-local storage that are searched: libc's are near the thread pointer */
  LONGEST = 65536,     /* list of a tcache */
};

static bool add(uint64_t **list, size_t *count, size_t *capacity, uint64_t block)
{
  if (!hwi_table_grow((void **)list, capacity, *count + 1, sizeof **list))
    return false;
  (*list)[(*count)++] = block;
  return true;
}

static int compare(const void *a, const void *b)
{
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

/* Sorts the list, and removes what is in it twice. */
static void sort(uint64_t *list, size_t *count)
{
  size_t kept = 0;
  if (*count)
    qsort(list, *count, sizeof *list, compare);
  for (size_t i = 0; i < *count; i++)
    if (kept == 0 || list[i] != list[kept - 1])
      list[kept++] = list[i];
  *count = kept;
}

static bool next_of(struct hwi_glibc *glibc, uint64_t link, uint64_t *next)
{
  if (!hwi_memory_word(&glibc->reader, link, next))
    return false;
  *next ^= glibc->protects ? link >> PAGE_SHIFT : 0;
  return true;
}

static bool is_block(struct hwi_glibc *glibc, uint64_t block)
{
  uint64_t size;
  return block && block % glibc->sizes.alignment == 0 && hwi_glibc_size(glibc, block - glibc->sizes.header, &size) &&
         hwi_glibc_size_is_sound(glibc, size);
}

/* --- tcaches --- */

struct cache {
  uint64_t address; /* of the block that it is in */
  unsigned sizes;
};

static uint64_t entry_of(const struct hwi_glibc *glibc, const struct cache *cache, unsigned i)
{
  return cache->address + cache->sizes * sizeof(uint16_t) + (uint64_t)i * glibc->sizes.word;
}

static uint64_t chunk_size_of(const struct hwi_glibc *glibc, const struct cache *cache)
{
  const uint64_t bytes = cache->sizes * (sizeof(uint16_t) + glibc->sizes.word) + glibc->sizes.word;
  return (bytes + glibc->sizes.alignment - 1) / glibc->sizes.alignment * glibc->sizes.alignment;
}

/* Returns whether there is a chunk of a cache's size whose lists are empty or begin with a block. */
static bool is_cache(struct hwi_glibc *glibc, const struct cache *cache)
{
  uint64_t size, first;
  if (!is_block(glibc, cache->address) || !hwi_glibc_size(glibc, cache->address - glibc->sizes.header, &size) ||
      (size & ~(uint64_t)HWI_GLIBC_FLAGS) != chunk_size_of(glibc, cache))
    return false;
  for (unsigned i = 0; i < cache->sizes; i++)
    if (!hwi_memory_word(&glibc->reader, entry_of(glibc, cache, i), &first) || (first && !is_block(glibc, first)))
      return false;
  return true;
}

/* Decides by the first list with two blocks whether links are protected. */
static void look_whether_protected(struct hwi_glibc *glibc, uint64_t first)
{
  uint64_t link;
  if (hwi_memory_word(&glibc->reader, first, &link) && link && !is_block(glibc, link) &&
      (link == first >> PAGE_SHIFT || is_block(glibc, link ^ first >> PAGE_SHIFT)))
    glibc->protects = true;
}

static bool add_list(struct hwi_glibc *glibc, struct hwi_core_heap *heap, uint64_t first)
{
  uint64_t block = first, length = 0;
  for (; block; length++) {
    if (length == LONGEST || !is_block(glibc, block)) {
      hwi_core_heap_note_damage(heap, block, "a list of cached blocks that begins at %#llx leads here",
                                (unsigned long long)first);
      return true;
    }
    if (!add(&glibc->cached, &glibc->cached_count, &glibc->cached_capacity, block))
      return false;
    if (!next_of(glibc, block, &block))
      return true;
  }
  return true;
}

static bool add_cache(struct hwi_glibc *glibc, struct hwi_core_heap *heap, const struct cache *cache)
{
  uint64_t first;
  bool done = add(&glibc->caches, &glibc->cache_count, &glibc->cache_capacity, cache->address);
  for (unsigned i = 0; i < cache->sizes && done; i++)
    if (hwi_memory_word(&glibc->reader, entry_of(glibc, cache, i), &first) && first) {
      if (!glibc->protects)
        look_whether_protected(glibc, first);
      done = add_list(glibc, heap, first);
    }
  return done;
}

static bool is_known(const struct hwi_glibc *glibc, uint64_t cache)
{
  for (size_t i = 0; i < glibc->cache_count; i++)
    if (glibc->caches[i] == cache)
      return true;
  return false;
}

static bool find_cache_of(struct hwi_glibc *glibc, struct hwi_core_heap *heap, const struct hwi_memory_thread *thread)
{
  static const unsigned sizes[] = {SIZES, SIZES_SINCE_42};
  const struct hwi_region *region = hwi_memory_region(glibc->memory, thread->thread_pointer);
  uint64_t word;
  if (!region)
    return true;
  const uint64_t off = thread->thread_pointer - region->begin;
  const uint64_t first = off > LOCAL_BYTES ? thread->thread_pointer - LOCAL_BYTES : region->begin;
  for (uint64_t at = thread->thread_pointer - glibc->sizes.word; at >= first && at < thread->thread_pointer;
       at -= glibc->sizes.word)
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      struct cache cache = {0, sizes[i]};
      if (hwi_memory_word(&glibc->reader, at, &word) && (cache.address = word) && !is_known(glibc, word) &&
          is_cache(glibc, &cache) && !add_cache(glibc, heap, &cache))
        return false;
    }
  return true;
}

/* --- fast bins --- */

static bool find_fast(struct hwi_glibc *glibc, struct hwi_core_heap *heap, const struct hwi_glibc_arena *arena)
{
  const uint64_t header = glibc->sizes.header;
  uint64_t chunk, next;
  for (unsigned i = 0; i < glibc->fast_count; i++) {
    if (!hwi_memory_word(&glibc->reader, arena->address + glibc->fast_off + i * glibc->sizes.word, &chunk))
      return true;
    for (; chunk; chunk = next) {
      if (!is_block(glibc, chunk + header)) {
        hwi_core_heap_note_damage(heap, chunk, "a list of fast bin %u of the arena at %#llx leads here", i,
                                  (unsigned long long)arena->address);
        break;
      }
      if (!add(&glibc->cached, &glibc->cached_count, &glibc->cached_capacity, chunk + header))
        return false;
      if (glibc->cached_count == glibc->cached_capacity && glibc->cached_count > ((size_t)1 << 32))
        return true; /* a forged list that leads to itself */
      if (!next_of(glibc, chunk + header, &next))
        break;
    }
  }
  return true;
}

bool hwi_glibc_find_cached(struct hwi_glibc *glibc, struct hwi_core_heap *heap)
{
  bool done = true;
  for (size_t i = 0; i < glibc->memory->thread_count && done; i++)
    done = find_cache_of(glibc, heap, &glibc->memory->threads[i]);
  for (size_t i = 0; i < glibc->arena_count && done; i++)
    done = find_fast(glibc, heap, &glibc->arenas[i]);
  sort(glibc->cached, &glibc->cached_count);
  sort(glibc->caches, &glibc->cache_count);
  return done;
}
