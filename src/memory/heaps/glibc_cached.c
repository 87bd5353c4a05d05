/* glibc_cached.c - the free blocks of glibc's malloc that look used: those of fast bins and tcaches
 *
 * A tcache is a chunk of a known size: numbers of 16 bits, one for each size of blocks, then the first block of each list.
 * Its thread has a pointer to it in thread-local storage, which is below the thread pointer or, on some CPUs, above it.
 * Since 2.42 the numbers say how much room is left, and there are more sizes; both are tried. Where no thread is known,
 * tcaches are searched for: only there do the numbers agree with the lengths of lists. Whether links are protected is
 * found by following the first of each list: usually only one of the two readings leads to a block.
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
  DAMAGED_MOST = 4,    /* lists of a tcache */
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
  uint64_t below; /* so far below its thread pointer is a pointer to it; 0: not looked for */
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

/* How many blocks a cache has in a list; since 2.42, how many more it would take. */
static bool number_of(struct hwi_glibc *glibc, const struct cache *cache, unsigned i, unsigned *number)
{
  const unsigned char *bytes =
      hwi_memory_bytes(&glibc->reader, cache->address + i * sizeof(uint16_t), sizeof(uint16_t));
  if (bytes)
    *number = glibc->memory->swaps_bytes ? (unsigned)bytes[0] << 8 | bytes[1] : (unsigned)bytes[1] << 8 | bytes[0];
  return bytes;
}

/* Returns whether the lists that are not empty are those with a number. */
static bool has_numbers(struct hwi_glibc *glibc, const struct cache *cache)
{
  uint64_t first;
  unsigned number;
  for (unsigned i = 0; i < cache->sizes; i++)
    if (!number_of(glibc, cache, i, &number) || !hwi_memory_word(&glibc->reader, entry_of(glibc, cache, i), &first) ||
        !number != !first)
      return false;
  return cache->sizes == SIZES;
}

/* Returns whether there is a chunk of a cache's size whose lists are empty or begin with a block. A few may be damaged: the link of a
 * block that was written to after it was freed becomes the first of its list. */
static bool is_cache(struct hwi_glibc *glibc, const struct cache *cache)
{
  uint64_t size, first;
  unsigned damaged = 0;
  if (!is_block(glibc, cache->address) || !hwi_glibc_size(glibc, cache->address - glibc->sizes.header, &size) ||
      !is_size_of(glibc, cache, size))
    return false;
  for (unsigned i = 0; i < cache->sizes; i++)
    if (!hwi_memory_word(&glibc->reader, entry_of(glibc, cache, i), &first) ||
        (first && !is_block(glibc, first) && ++damaged > DAMAGED_MOST))
      return false;
  return damaged == 0 || has_numbers(glibc, cache);
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

/* Adds the blocks of the list that begins with the word at `link`. */
static bool add_list(struct hwi_glibc *glibc, struct hwi_core_heap *heap, uint64_t link)
{
  uint64_t block, length = 0;
  for (bool is_known = hwi_memory_word(&glibc->reader, link, &block); is_known && block; length++) {
    if (length == LONGEST || !has_room(glibc) || !is_block(glibc, block)) {
      hwi_core_heap_note_damage(heap, link, "a list of cached blocks goes on from here to %#llx, which is none",
                                (unsigned long long)block);
      return true;
    }
    if (!add(&glibc->cached, &glibc->cached_count, &glibc->cached_capacity, block))
      return false;
    link = block;
    is_known = next_of(glibc, link, &block);
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
  bool done = add(&glibc->caches, &glibc->cache_count, &glibc->cache_capacity, cache->address);
  for (unsigned i = 0; i < cache->sizes && done; i++)
    done = add_list(glibc, heap, entry_of(glibc, cache, i));
  return done;
}

static bool is_known(const struct caches *caches, uint64_t address)
{
  for (size_t i = 0; i < caches->count; i++)
    if (caches->items[i].address == address)
      return true;
  return false;
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
    unsigned number;
    if (!number_of(glibc, cache, i, &number) || !hwi_memory_word(&glibc->reader, entry_of(glibc, cache, i), &first))
      return false;
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
      const struct cache cache = {block, sizes_of_versions[i], 0};
      if (is_size_of(glibc, &cache, size) && is_cache(glibc, &cache) && has_lengths_in_any_way(glibc, &cache) &&
          !add_cache(caches, &cache))
        return false;
    }
  }
  return true;
}

/* Adds what may be the cache of the thread. A place above the thread pointer is a negative distance below it. */
static bool find_caches_of(struct hwi_glibc *glibc, struct caches *caches, const struct hwi_memory_thread *thread)
{
  const struct hwi_region *region = hwi_memory_region(glibc->memory, thread->thread_pointer);
  const bool is_above = hwi_thread_local_is_above(thread);
  const uint64_t room = !region    ? 0
                        : is_above ? region->end - thread->thread_pointer
                                   : thread->thread_pointer - region->begin;
  const uint64_t step = is_above ? -(uint64_t)glibc->sizes.word : glibc->sizes.word;
  uint64_t word, below = step;
  for (uint64_t left = (room < LOCAL_BYTES ? room : LOCAL_BYTES) / glibc->sizes.word; left > 0; left--, below += step)
    for (unsigned i = 0; i < sizeof sizes_of_versions / sizeof *sizes_of_versions; i++) {
      struct cache cache = {0, sizes_of_versions[i], below};
      if (hwi_memory_word(&glibc->reader, thread->thread_pointer - below, &word) && (cache.address = word) &&
          is_cache(glibc, &cache) && !add_cache(caches, &cache))
        return false;
    }
  return true;
}

static int compare_places(const void *a, const void *b)
{
  const struct cache *x = a, *y = b;
  return x->below < y->below ? -1 : x->below > y->below;
}

/* Stacks are below thread pointers, too, with pointers to blocks of that size. The library's pointer is at the same place in all
 * threads. Returns how far it is below thread pointers: where most are, of which those with lists are the surer ones. */
static uint64_t choose_place(struct hwi_glibc *glibc, struct caches *tried)
{
  uint64_t best = 0;
  unsigned most = 0, sum = 0;
  if (tried->count)
    qsort(tried->items, tried->count, sizeof *tried->items, compare_places);
  for (size_t i = 0; i < tried->count; i++) {
    sum = i && tried->items[i].below == tried->items[i - 1].below ? sum : 0;
    sum += has_lengths_in_any_way(glibc, &tried->items[i]) ? 2 : 1;
    if (sum > most) {
      most = sum;
      best = tried->items[i].below;
    }
  }
  return best;
}

static bool find_caches_of_threads(struct hwi_glibc *glibc, struct caches *caches)
{
  struct caches tried = {0};
  bool done = true;
  for (size_t i = 0; i < glibc->memory->thread_count && done; i++)
    done = find_caches_of(glibc, &tried, &glibc->memory->threads[i]);
  const uint64_t below = choose_place(glibc, &tried);
  for (size_t i = 0; i < tried.count && done; i++)
    if (tried.items[i].below == below && !is_known(caches, tried.items[i].address))
      done = add_cache(caches, &tried.items[i]);
  hwi_table_release(tried.items, tried.capacity * sizeof *tried.items);
  return done;
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
    const struct cache cache = {block, sizes_of_versions[i], 0};
    if (!is_known(caches, block) && is_cache(glibc, &cache) && has_lengths_in_any_way(glibc, &cache))
      return add_cache(caches, &cache);
  }
  return true;
}

static bool find_caches(struct hwi_glibc *glibc, struct caches *caches)
{
  if (glibc->memory->thread_count == 0)
    return search_caches(glibc, caches);
  return find_caches_of_threads(glibc, caches) && find_first_cache(glibc, caches);
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
    uint64_t link = arena->address + glibc->fast_off + i * glibc->sizes.word;
    for (; chunk; chunk = next) {
      if (!has_room(glibc) || !is_block(glibc, chunk + header) || hwi_glibc_is_ring(&ring, chunk)) {
        hwi_core_heap_note_damage(heap, link, "a list of fast bin %u goes on from here to %#llx, which is no chunk", i,
                                  (unsigned long long)chunk);
        break;
      }
      if (!add(&glibc->cached, &glibc->cached_count, &glibc->cached_capacity, chunk + header))
        return false;
      link = chunk + header;
      if (!next_of(glibc, link, &next))
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
