/* glibc_walk.c - walks the chunks of the arenas of glibc's malloc
 *
 * From the start of a stretch of memory, each chunk's size leads to the next one, up to the arena's top chunk or to the
 * stretch's end. A chunk is free if the next one says so. If a size cannot be right, the walk goes on at the next place from
 * which sizes lead on for a while; what is between is not understood.
 */
#include <stdio.h>

#include "memory/heaps/glibc.h"

enum {
  CHUNKS_TO_GO_ON = 4,       /* so many sound chunks are needed to go on after damage */
  SUB_HEAP_HEADER_WORDS = 4, /* arena, previous sub-heap, size, size with access rights; since 2.35 there is one more */
  SUB_HEAP_MAX_BYTES = 1 << 26,
  ARENA_WORDS_BEHIND_LINK = 5, /* the link, free link, threads, system bytes, most of them */
  MAP_BYTES = 16,
};

/* Chunks from `begin` to `end`. */
struct stretch {
  struct hwi_glibc *glibc;
  struct hwi_heap *heap;
  const struct hwi_glibc_arena *arena;
  size_t part; /* of the heap */
  uint64_t begin, end;
  size_t cached, caches; /* the next ones of the sorted lists */
};

static uint64_t align(const struct hwi_glibc *glibc, uint64_t address)
{
  const uint64_t alignment = glibc->sizes.alignment;
  const uint64_t block = address + glibc->sizes.header;
  return (block + alignment - 1) / alignment * alignment - glibc->sizes.header;
}

/* Moves *next to the first of the sorted numbers that is not less. Returns whether it is equal. */
static bool is_listed(const uint64_t *list, size_t count, size_t *next, uint64_t number)
{
  while (*next < count && list[*next] < number)
    ++*next;
  return *next < count && list[*next] == number;
}

/* Reads the size of the chunk at `at` without flags. Returns false if the chunk cannot be. */
static bool read_chunk(const struct stretch *stretch, uint64_t at, uint64_t *size)
{
  struct hwi_glibc *glibc = stretch->glibc;
  if (!hwi_glibc_size(glibc, at, size) || !hwi_glibc_size_is_sound(glibc, *size))
    return false;
  const bool is_of_main = !(*size & HWI_GLIBC_NOT_MAIN);
  *size &= ~(uint64_t)HWI_GLIBC_FLAGS;
  return *size <= stretch->end - at && (is_of_main || !stretch->arena->is_main);
}

/* Memory that does not go on where it ended is closed by small chunks, of a header each, so that nothing is joined across. */
static bool is_fence(const struct stretch *stretch, uint64_t at)
{
  struct hwi_glibc *glibc = stretch->glibc;
  uint64_t size;
  return hwi_glibc_size(glibc, at, &size) && (size & HWI_GLIBC_PREVIOUS_IN_USE) &&
         (size & ~(uint64_t)HWI_GLIBC_FLAGS) <= glibc->sizes.header;
}

static enum hwi_block_state state_of(struct stretch *stretch, uint64_t chunk, uint64_t size)
{
  struct hwi_glibc *glibc = stretch->glibc;
  const uint64_t block = chunk + glibc->sizes.header;
  uint64_t next;
  if (chunk == stretch->arena->top)
    return HWI_BLOCK_TOP;
  if (is_listed(glibc->cached, glibc->cached_count, &stretch->cached, block))
    return HWI_BLOCK_CACHED;
  if (is_listed(glibc->caches, glibc->cache_count, &stretch->caches, block))
    return HWI_BLOCK_OWN;
  return hwi_glibc_size(glibc, chunk + size, &next) && !(next & HWI_GLIBC_PREVIOUS_IN_USE) ? HWI_BLOCK_FREE
                                                                                           : HWI_BLOCK_LIVE;
}

/* Returns where sound chunks go on, or the end. */
static uint64_t find_sound(const struct stretch *stretch, uint64_t at)
{
  uint64_t size;
  for (at += stretch->glibc->sizes.alignment; at < stretch->end; at += stretch->glibc->sizes.alignment) {
    uint64_t chunk = at;
    int sound = 0;
    while (sound < CHUNKS_TO_GO_ON && chunk < stretch->end && chunk != stretch->arena->top &&
           read_chunk(stretch, chunk, &size)) {
      chunk += size;
      sound++;
    }
    if (sound == CHUNKS_TO_GO_ON || (sound && (chunk == stretch->end || chunk == stretch->arena->top)))
      return at;
  }
  return stretch->end;
}

static bool walk(struct stretch *stretch)
{
  struct hwi_glibc *glibc = stretch->glibc;
  const uint64_t word = glibc->sizes.word;
  uint64_t size;
  for (uint64_t at = stretch->begin; at < stretch->end;) {
    struct hwi_heap_part *part = &stretch->heap->parts[stretch->part];
    if (!read_chunk(stretch, at, &size)) {
      if (is_fence(stretch, at)) {
        part->understood_bytes += stretch->end - at < glibc->sizes.header ? stretch->end - at : glibc->sizes.header;
        at += glibc->sizes.header;
        continue;
      }
      const uint64_t next = find_sound(stretch, at);
      hwi_heap_note_damage(stretch->heap, at,
                           "the size of the chunk here cannot be right; %llu bytes are not understood",
                           (unsigned long long)(next - at));
      at = next;
      continue;
    }
    const enum hwi_block_state state = state_of(stretch, at, size);
    const uint64_t usable = size - (state == HWI_BLOCK_TOP ? glibc->sizes.header : word);
    if (!hwi_heap_add_block(stretch->heap, part, at + glibc->sizes.header, usable, state))
      return false;
    part->understood_bytes += size;
    at += size;
  }
  return true;
}

/* --- the main arena --- */

static uint64_t top_end(struct hwi_glibc *glibc, const struct hwi_glibc_arena *arena)
{
  uint64_t size;
  return hwi_glibc_size(glibc, arena->top, &size) ? arena->top + (size & ~(uint64_t)HWI_GLIBC_FLAGS) : arena->top;
}

/* The stretch that ends with the top chunk. */
static bool walk_main(struct hwi_glibc *glibc, struct hwi_heap *heap, const struct hwi_glibc_arena *arena, size_t part)
{
  const uint64_t end = top_end(glibc, arena);
  uint64_t begin = end - arena->system_bytes;
  if (glibc->settings.is_found && glibc->settings.first && glibc->settings.first < arena->top)
    begin = glibc->settings.first;
  struct stretch stretch = {
      .glibc = glibc, .heap = heap, .arena = arena, .part = part, .begin = align(glibc, begin), .end = end};
  heap->parts[part].understood_bytes += stretch.begin - begin;
  return arena->system_bytes == 0 || walk(&stretch);
}

/* --- the others --- */

static uint64_t sub_heap_of(uint64_t address)
{
  return address & ~(uint64_t)(SUB_HEAP_MAX_BYTES - 1);
}

static uint64_t arena_end(const struct hwi_glibc *glibc, const struct hwi_glibc_arena *arena)
{
  const unsigned word = glibc->sizes.word;
  return arena->bins + HWI_GLIBC_BINS * 2 * word + MAP_BYTES + ARENA_WORDS_BEHIND_LINK * word;
}

/* Chunks begin behind the header, and in the arena's first sub-heap behind the arena. */
static uint64_t first_chunk(struct hwi_glibc *glibc, const struct hwi_glibc_arena *arena, uint64_t sub_heap)
{
  const unsigned word = glibc->sizes.word;
  const uint64_t header_bytes = sub_heap_of(arena->address) == arena->address
                                    ? SUB_HEAP_HEADER_WORDS * word
                                    : arena->address - sub_heap_of(arena->address);
  return align(glibc, sub_heap_of(arena->address) == sub_heap ? arena_end(glibc, arena) : sub_heap + header_bytes);
}

static bool walk_other(struct hwi_glibc *glibc, struct hwi_heap *heap, const struct hwi_glibc_arena *arena, size_t part)
{
  const unsigned word = glibc->sizes.word;
  uint64_t owner, previous, size;
  bool done = true;
  for (uint64_t at = sub_heap_of(arena->top); done && at; at = previous) {
    if (!hwi_memory_word(&glibc->reader, at, &owner) || !hwi_memory_word(&glibc->reader, at + word, &previous) ||
        !hwi_memory_word(&glibc->reader, at + 2 * word, &size) || owner != arena->address ||
        size > SUB_HEAP_MAX_BYTES) {
      hwi_heap_note_damage(heap, at, "here should be a sub-heap of the arena at %#llx",
                           (unsigned long long)arena->address);
      break;
    }
    struct stretch stretch = {.glibc = glibc,
                              .heap = heap,
                              .arena = arena,
                              .part = part,
                              .begin = first_chunk(glibc, arena, at),
                              .end = at + size};
    heap->parts[part].understood_bytes += stretch.begin - at;
    done = walk(&stretch);
  }
  return done;
}

static bool walk_arena(struct hwi_glibc *glibc, struct hwi_heap *heap, const struct hwi_glibc_arena *arena)
{
  char name[sizeof heap->parts->name];
  snprintf(name, sizeof name, arena->is_main ? "main arena" : "arena %#llx", (unsigned long long)arena->address);
  struct hwi_heap_part *part = hwi_heap_add_part(heap, name, arena->address);
  if (!part)
    return false;
  part->own_bytes = arena_end(glibc, arena) - arena->address;
  part->system_bytes = arena->system_bytes;
  const size_t number = heap->part_count - 1;
  return arena->is_main ? walk_main(glibc, heap, arena, number) : walk_other(glibc, heap, arena, number);
}

bool hwi_glibc_walk(struct hwi_glibc *glibc, struct hwi_heap *heap)
{
  bool done = true;
  for (size_t i = 0; i < glibc->arena_count && done; i++)
    done = walk_arena(glibc, heap, &glibc->arenas[i]);
  return done;
}
