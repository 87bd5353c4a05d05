/* glibc_cached.c - the free blocks of glibc's malloc that look used: those of fast bins and tcaches
 *
 * A tcache is a chunk of a known size: numbers of 16 bits, one for each size of blocks, then the first block of each list.
 * Its thread has a pointer to it in thread-local storage, which is below the thread pointer. Since 2.42 the numbers say how
 * much room is left, and there are more sizes; both are tried. Where no thread is known, tcaches are searched for: only
 * there do the numbers agree with the lengths of lists. Whether links are protected is found by following the first of
 * each list: usually only one of the two readings leads to a block.
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

static const unsigned sizes_of_versions[] = {SIZES, SIZES_SINCE_42};

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

/* In a forged heap, many lists may have the same blocks. */
static bool has_room(const struct hwi_glibc *glibc)
{
  return glibc->cached_count < glibc->cached_most;
}

/* --- tcaches --- */

struct cache {
  uint64_t address; /* of the block that it is in */
  unsigned sizes;
};

struct caches {
  struct cache *items;
  size_t count, capacity;
};

/* Lists whose first link can only be read in one way. */
struct votes {
  uint64_t plain, protected;
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

/* Returns whether a chunk has the size of a cache. It is larger if too little for a chunk would have been left of it. */
static bool is_size_of(const struct hwi_glibc *glibc, const struct cache *cache, uint64_t size)
{
  size &= ~(uint64_t)HWI_GLIBC_FLAGS;
  return size == chunk_size_of(glibc, cache) || size == chunk_size_of(glibc, cache) + glibc->sizes.alignment;
}

/* Returns whether there is a chunk of a cache's size whose lists are empty or begin with a block. */
static bool is_cache(struct hwi_glibc *glibc, const struct cache *cache)
{
  uint64_t size, first;
  if (!is_block(glibc, cache->address) || !hwi_glibc_size(glibc, cache->address - glibc->sizes.header, &size) ||
      !is_size_of(glibc, cache, size))
    return false;
  for (unsigned i = 0; i < cache->sizes; i++)
    if (!hwi_memory_word(&glibc->reader, entry_of(glibc, cache, i), &first) || (first && !is_block(glibc, first)))
      return false;
  return true;
}

/* Votes by the link of a list's first block whether links are protected. It leads to a place `off` before a block. */
static void vote(struct hwi_glibc *glibc, struct votes *votes, uint64_t first, uint64_t off)
{
  uint64_t link;
  if (!is_block(glibc, first) || !hwi_memory_word(&glibc->reader, first, &link))
    return;
  const bool as_plain = !link || is_block(glibc, link + off);
  const uint64_t bare = link ^ first >> PAGE_SHIFT;
  const bool as_protected = !bare || is_block(glibc, bare + off);
  votes->plain += as_plain && !as_protected;
  votes->protected += as_protected && !as_plain;
}

static bool add_list(struct hwi_glibc *glibc, struct hwi_core_heap *heap, uint64_t first)
{
  uint64_t block = first, length = 0;
  for (; block; length++) {
    if (length == LONGEST || !has_room(glibc) || !is_block(glibc, block)) {
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

static bool add_cache(struct caches *caches, const struct cache *cache)
{
  if (!hwi_table_grow((void **)&caches->items, &caches->capacity, caches->count + 1, sizeof *caches->items))
    return false;
  caches->items[caches->count++] = *cache;
  return true;
}

static bool add_lists(struct hwi_glibc *glibc, struct hwi_core_heap *heap, const struct cache *cache)
{
  uint64_t first;
  bool done = add(&glibc->caches, &glibc->cache_count, &glibc->cache_capacity, cache->address);
  for (unsigned i = 0; i < cache->sizes && done; i++)
    if (hwi_memory_word(&glibc->reader, entry_of(glibc, cache, i), &first) && first)
      done = add_list(glibc, heap, first);
  return done;
}

static bool is_known(const struct caches *caches, uint64_t address)
{
  for (size_t i = 0; i < caches->count; i++)
    if (caches->items[i].address == address)
      return true;
  return false;
}

static bool find_cache_of(struct hwi_glibc *glibc, struct caches *caches, const struct hwi_memory_thread *thread)
{
  const struct hwi_region *region = hwi_memory_region(glibc->memory, thread->thread_pointer);
  uint64_t word;
  if (!region)
    return true;
  const uint64_t off = thread->thread_pointer - region->begin;
  const uint64_t first = off > LOCAL_BYTES ? thread->thread_pointer - LOCAL_BYTES : region->begin;
  for (uint64_t at = thread->thread_pointer - glibc->sizes.word; at >= first && at < thread->thread_pointer;
       at -= glibc->sizes.word)
    for (unsigned i = 0; i < sizeof sizes_of_versions / sizeof *sizes_of_versions; i++) {
      struct cache cache = {0, sizes_of_versions[i]};
      if (hwi_memory_word(&glibc->reader, at, &word) && (cache.address = word) && is_cache(glibc, &cache) &&
          !is_known(caches, word) && !add_cache(caches, &cache))
        return false;
    }
  return true;
}

/* Returns the length of a list, or LONGEST if it does not end before. */
static unsigned length_of(struct hwi_glibc *glibc, uint64_t block)
{
  unsigned length = 0;
  for (; block && length < LONGEST; length++, glibc->steps_left--)
    if (!glibc->steps_left || !is_block(glibc, block) || !next_of(glibc, block, &block))
      return LONGEST;
  return length;
}

/* Returns whether the numbers of a cache agree with its lists. Without any list they agree with a block of zeros, too. */
static bool has_lengths(struct hwi_glibc *glibc, const struct cache *cache)
{
  const bool is_room = cache->sizes == SIZES_SINCE_42;
  unsigned first_room = 0, lists = 0;
  for (unsigned i = 0; i < cache->sizes; i++) {
    uint64_t first;
    const unsigned char *bytes =
        hwi_memory_bytes(&glibc->reader, cache->address + i * sizeof(uint16_t), sizeof(uint16_t));
    if (!bytes || !hwi_memory_word(&glibc->reader, entry_of(glibc, cache, i), &first))
      return false;
    const unsigned number =
        glibc->memory->swaps_bytes ? (unsigned)bytes[0] << 8 | bytes[1] : (unsigned)bytes[1] << 8 | bytes[0];
    const unsigned length = length_of(glibc, first);
    if (i == 0)
      first_room = number + length;
    if (length == LONGEST || (is_room ? number + length != first_room : number != length))
      return false;
    lists += length > 0;
  }
  return lists || cache->address == hwi_glibc_align(glibc, glibc->settings.first) + glibc->sizes.header;
}

static bool has_lengths_in_any_way(struct hwi_glibc *glibc, const struct cache *cache)
{
  bool has = false;
  for (int protects = 0; protects <= 1 && !has; protects++) {
    glibc->protects = protects;
    has = has_lengths(glibc, cache);
  }
  return has;
}

static bool search_region(struct hwi_glibc *glibc, struct caches *caches, const struct hwi_region *region)
{
  const unsigned step = glibc->sizes.alignment;
  uint64_t size;
  for (uint64_t off = step; off < region->known; off += step) {
    const uint64_t block = region->begin + off;
    if (!hwi_glibc_size(glibc, block - glibc->sizes.header, &size))
      return true;
    for (unsigned i = 0; i < sizeof sizes_of_versions / sizeof *sizes_of_versions; i++) {
      const struct cache cache = {block, sizes_of_versions[i]};
      if (is_size_of(glibc, &cache, size) && is_cache(glibc, &cache) && has_lengths_in_any_way(glibc, &cache) &&
          !add_cache(caches, &cache))
        return false;
    }
  }
  return true;
}

/* The caches of threads that are not known. */
static bool search_caches(struct hwi_glibc *glibc, struct caches *caches)
{
  bool done = true;
  for (size_t i = 0; i < glibc->memory->region_count && done; i++) {
    const struct hwi_region *region = &glibc->memory->regions[i];
    if (region->is_writable && !region->file)
      done = search_region(glibc, caches, region);
  }
  return done;
}

/* That of the main thread, which may have ended, is the first block of the heap. */
static bool find_first_cache(struct hwi_glibc *glibc, struct caches *caches)
{
  for (unsigned i = 0; glibc->settings.first && i < sizeof sizes_of_versions / sizeof *sizes_of_versions; i++) {
    const uint64_t block = hwi_glibc_align(glibc, glibc->settings.first) + glibc->sizes.header;
    const struct cache cache = {block, sizes_of_versions[i]};
    if (!is_known(caches, block) && is_cache(glibc, &cache) && has_lengths_in_any_way(glibc, &cache))
      return add_cache(caches, &cache);
  }
  return true;
}

static bool find_caches(struct hwi_glibc *glibc, struct caches *caches)
{
  if (glibc->memory->thread_count == 0)
    return search_caches(glibc, caches);
  bool done = true;
  for (size_t i = 0; i < glibc->memory->thread_count && done; i++)
    done = find_cache_of(glibc, caches, &glibc->memory->threads[i]);
  return done && find_first_cache(glibc, caches);
}

/* --- fast bins --- */

/* Returns false if the arena has no fast bin of this number, or it is not known. */
static bool fast_bin(struct hwi_glibc *glibc, const struct hwi_glibc_arena *arena, unsigned i, uint64_t *chunk)
{
  return i < glibc->fast_count &&
         hwi_memory_word(&glibc->reader, arena->address + glibc->fast_off + i * glibc->sizes.word, chunk);
}

static bool find_fast(struct hwi_glibc *glibc, struct hwi_core_heap *heap, const struct hwi_glibc_arena *arena)
{
  const uint64_t header = glibc->sizes.header;
  uint64_t chunk, next;
  for (unsigned i = 0; fast_bin(glibc, arena, i, &chunk); i++) {
    struct hwi_glibc_ring ring = {0};
    for (; chunk; chunk = next) {
      if (!has_room(glibc) || !is_block(glibc, chunk + header) || hwi_glibc_is_ring(&ring, chunk)) {
        hwi_core_heap_note_damage(heap, chunk, "a list of fast bin %u of the arena at %#llx leads here", i,
                                  (unsigned long long)arena->address);
        break;
      }
      if (!add(&glibc->cached, &glibc->cached_count, &glibc->cached_capacity, chunk + header))
        return false;
      if (!next_of(glibc, chunk + header, &next))
        break;
    }
  }
  return true;
}

bool hwi_glibc_is_in_fast_bin(struct hwi_glibc *glibc, uint64_t block)
{
  uint64_t chunk;
  for (size_t i = 0; i < glibc->arena_count; i++)
    for (unsigned k = 0; fast_bin(glibc, &glibc->arenas[i], k, &chunk); k++) {
      struct hwi_glibc_ring ring = {0};
      while (chunk && is_block(glibc, chunk + glibc->sizes.header) && !hwi_glibc_is_ring(&ring, chunk)) {
        if (chunk + glibc->sizes.header == block)
          return true;
        if (!next_of(glibc, chunk + glibc->sizes.header, &chunk))
          break;
      }
    }
  return false;
}

static void decide_whether_protected(struct hwi_glibc *glibc, const struct caches *caches)
{
  struct votes votes = {0};
  uint64_t first;
  for (size_t i = 0; i < caches->count; i++)
    for (unsigned k = 0; k < caches->items[i].sizes; k++)
      if (hwi_memory_word(&glibc->reader, entry_of(glibc, &caches->items[i], k), &first))
        vote(glibc, &votes, first, 0);
  for (size_t i = 0; i < glibc->arena_count; i++)
    for (unsigned k = 0; fast_bin(glibc, &glibc->arenas[i], k, &first); k++)
      vote(glibc, &votes, first + glibc->sizes.header, glibc->sizes.header);
  glibc->protects = votes.protected > votes.plain;
}

bool hwi_glibc_find_cached(struct hwi_glibc *glibc, struct hwi_core_heap *heap)
{
  struct caches caches = {0};
  bool done = find_caches(glibc, &caches);
  decide_whether_protected(glibc, &caches);
  for (size_t i = 0; i < caches.count && done; i++)
    done = add_lists(glibc, heap, &caches.items[i]);
  for (size_t i = 0; i < glibc->arena_count && done; i++)
    done = find_fast(glibc, heap, &glibc->arenas[i]);
  hwi_table_release(caches.items, caches.capacity * sizeof *caches.items);
  sort(glibc->cached, &glibc->cached_count);
  sort(glibc->caches, &glibc->cache_count);
  return done;
}
