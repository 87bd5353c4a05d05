/* glibc_walk.c - walks the chunks of the arenas of glibc's malloc
 *
 * From the start of a stretch of memory, each chunk's size leads to the next one, up to the arena's top chunk or to the
 * stretch's end. A chunk is free if the next one says so. If a size cannot be right, the walk goes on at the next place from
 * which sizes lead on for a while; what is between is not understood. If it is the top chunk's size, the chunk goes up to where the
 * arena ends.
 *
 * Memory that does not go on where it ended is closed by two fences: chunks that are too small to be used, so that nothing
 * is joined across. The main arena has them where the program itself has moved the break: what the program got is a gap,
 * and is counted as the arena's. If the break cannot be moved, the main arena goes on in mappings; these are searched for
 * when bytes are missing.
 */
#include <stdio.h>

#include "memory/heaps/glibc.h"
#include "trace/grow.h"

enum {
  CHUNKS_TO_GO_ON = 4,       /* so many sound chunks are needed to go on after damage */
  SUB_HEAP_HEADER_WORDS = 4, /* arena, previous sub-heap, size, size with access rights; since 2.35 there is one more */
  SUB_HEAP_MAX_BYTES = 1 << 26,
  SUB_HEAP_MAX_BYTES_32 = 1 << 20,
  ARENA_WORDS_BEHIND_LINK = 5, /* the link, free link, threads, system bytes, most of them */
};

/* Chunks from `begin` to `end`. */
struct stretch {
  struct hwi_glibc *glibc;
  struct hwi_core_heap *heap;
  const struct hwi_glibc_arena *arena;
  size_t part; /* of the heap */
  uint64_t begin, end;
  uint64_t walked_end; /* behind the last chunk or fence */
  uint64_t gap_bytes;
  bool ends_with_top;    /* if the top chunk is in the stretch, both end together */
  bool has_top;          /* the top chunk was met */
  size_t cached, caches; /* the next ones of the sorted lists */
};

/* Returns the place of the first of the sorted numbers that is not less. */
static size_t first_from(const uint64_t *list, size_t count, uint64_t number)
{
  size_t low = 0;
  while (low < count) {
    const size_t middle = low + (count - low) / 2;
    if (list[middle] < number)
      low = middle + 1;
    else
      count = middle;
  }
  return low;
}

/* Moves *next to the first of the sorted numbers that is not less. Returns whether it is equal. */
static bool is_listed(const uint64_t *list, size_t count, size_t *next, uint64_t number)
{
  while (*next < count && list[*next] < number)
    ++*next;
  return *next < count && list[*next] == number;
}

/* The top chunk ends with a page, which with words of 4 bytes is no place for a chunk. */
static bool is_sound_top(const struct hwi_glibc *glibc, const struct hwi_glibc_arena *arena, uint64_t size)
{
  size &= ~(uint64_t)HWI_GLIBC_FLAGS;
  return size >= glibc->sizes.least && (arena->top + size) % HWI_MEMORY_PAGE_BYTES == 0;
}

/* Reads the size of the chunk at `at` without flags. Returns false if the chunk cannot be. */
static bool read_chunk(const struct stretch *stretch, uint64_t at, uint64_t *size)
{
  struct hwi_glibc *glibc = stretch->glibc;
  if (!hwi_glibc_size(glibc, at, size) || !(hwi_glibc_size_is_sound(glibc, *size) ||
                                            (at == stretch->arena->top && is_sound_top(glibc, stretch->arena, *size))))
    return false;
  const bool is_of_main = !(*size & HWI_GLIBC_NOT_MAIN);
  *size &= ~(uint64_t)HWI_GLIBC_FLAGS;
  return *size <= stretch->end - at && (is_of_main || !stretch->arena->is_main);
}

/* Returns the bytes of the fence at `at`, or 0 if there is none. The last one of a sub-heap has no size, and
 * the one at the end has what is left by alignment. */
static uint64_t fence_bytes(const struct stretch *stretch, uint64_t at)
{
  struct hwi_glibc *glibc = stretch->glibc;
  const uint64_t header = glibc->sizes.header;
  uint64_t size;
  if (!hwi_glibc_size(glibc, at, &size) ||
      ((size & ~(uint64_t)HWI_GLIBC_PREVIOUS_IN_USE) != header && size != HWI_GLIBC_PREVIOUS_IN_USE))
    return 0;
  return stretch->end - at <= glibc->sizes.alignment ? stretch->end - at : header;
}

/* Fences come in pairs. One alone is a chunk with a damaged size. */
static bool are_fences(const struct stretch *stretch, uint64_t at)
{
  const uint64_t bytes = fence_bytes(stretch, at);
  return bytes && fence_bytes(stretch, at + bytes);
}

/* Of a larger chunk, a block is cut in two steps: it gets its own size, and then what is left gets one. If nothing has ever written
 * to the page, the second step takes as long as the kernel needs to provide one. Returns whether the rest begins here. */
static bool is_rest(struct hwi_glibc *glibc, const struct hwi_glibc_arena *arena, uint64_t at)
{
  uint64_t size;
  return hwi_glibc_is_in_use(glibc, arena) && hwi_glibc_size(glibc, at, &size) && size == 0;
}

/* Whether the chunk at `next` says that the one before it, of `size` bytes, is free. Then the word in front of next's size is that
 * size. If it is no size at all, next's flags were written over, unless a thread is in the middle of that. If it is another one, the
 * program was about to write it. */
static bool says_free(struct stretch *stretch, uint64_t next, uint64_t size)
{
  struct hwi_glibc *glibc = stretch->glibc;
  uint64_t flags, previous;
  if (!hwi_glibc_size(glibc, next, &flags) || (flags & HWI_GLIBC_PREVIOUS_IN_USE))
    return false;
  if (!hwi_memory_word(&glibc->reader, next, &previous) || previous == size ||
      (hwi_glibc_size_is_sound(glibc, previous) && previous <= next - stretch->begin) ||
      hwi_glibc_is_in_use(glibc, stretch->arena))
    return true;
  if (!read_chunk(stretch, next, &flags)) /* the walk will note that */
    return false;
  hwi_core_heap_note_overrun(
      stretch->heap, next,
      "the chunk here says that the block of %llu bytes at %#llx before it is free, but not its size",
      (unsigned long long)(size - glibc->sizes.word), (unsigned long long)(next - size + glibc->sizes.header));
  return false;
}

static enum hwi_core_block_state state_of(struct stretch *stretch, uint64_t chunk, uint64_t size)
{
  struct hwi_glibc *glibc = stretch->glibc;
  const uint64_t block = chunk + glibc->sizes.header;
  if (chunk == stretch->arena->top)
    return HWI_CORE_BLOCK_TOP;
  if (is_listed(glibc->cached, glibc->cached_count, &stretch->cached, block))
    return HWI_CORE_BLOCK_CACHED;
  if (is_listed(glibc->caches, glibc->cache_count, &stretch->caches, block))
    return HWI_CORE_BLOCK_OWN;
  if (is_rest(glibc, stretch->arena, chunk + size))
    return HWI_CORE_BLOCK_LIVE;
  return says_free(stretch, chunk + size, size) ? HWI_CORE_BLOCK_FREE : HWI_CORE_BLOCK_LIVE;
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

/* Returns whether sound chunks lead from `at` to the top chunk, to a fence or to the end. Nothing is before the first. */
static bool leads_to_end(const struct stretch *stretch, uint64_t at)
{
  uint64_t size, *steps_left = &stretch->glibc->steps_left;
  if (!hwi_glibc_size(stretch->glibc, at, &size) || (size & HWI_GLIBC_FLAGS) != HWI_GLIBC_PREVIOUS_IN_USE)
    return false;
  const uint64_t begin = at;
  for (; at < stretch->end && at != stretch->arena->top && *steps_left; at += size, --*steps_left)
    if (!read_chunk(stretch, at, &size))
      return at > begin && are_fences(stretch, at);
  return *steps_left;
}

/* Returns where chunks go on behind fences. */
static uint64_t find_behind_gap(const struct stretch *stretch, uint64_t at)
{
  for (uint64_t chunk = at; chunk < stretch->end; chunk += stretch->glibc->sizes.alignment)
    if (leads_to_end(stretch, chunk))
      return chunk;
  return stretch->end;
}

/* Steps over the fences at *at, and over the gap behind them. Returns false if there are none. */
static bool step_over_fences(struct stretch *stretch, uint64_t *at)
{
  struct hwi_core_heap_part *part = &stretch->heap->parts[stretch->part];
  if (!are_fences(stretch, *at))
    return false;
  for (uint64_t bytes; *at < stretch->end && (bytes = fence_bytes(stretch, *at)) > 0; *at += bytes)
    part->understood_bytes += bytes;
  stretch->walked_end = *at;
  const uint64_t next = *at < stretch->end ? find_behind_gap(stretch, *at) : *at;
  if (next < stretch->end)
    stretch->gap_bytes += next - *at;
  *at = next;
  return true;
}

/* Returns the block of the chunk that ends at `at`, which was found last, or NULL. Behind it is the size of the next chunk. */
static const struct hwi_core_block *block_before(const struct stretch *stretch, uint64_t at)
{
  const struct hwi_core_heap *heap = stretch->heap;
  const struct hwi_core_block *last = heap->block_count ? &heap->blocks[heap->block_count - 1] : NULL;
  return last && hwi_core_block_end(last) == at + stretch->glibc->sizes.word ? last : NULL;
}

/* Of the top chunk, no bytes are lost. */
static void note_damaged_size(const struct stretch *stretch, uint64_t at, uint64_t size, uint64_t lost_bytes)
{
  static const char of_chunk[] = "the size of the chunk here cannot be right (%#llx); %llu bytes are not understood",
                    of_top[] = "the size of the top chunk here cannot be right (%#llx): it goes to the arena's end";
  const struct hwi_core_block *before = block_before(stretch, at);
  char text[sizeof stretch->heap->damages->text];
  snprintf(text, sizeof text, lost_bytes ? of_chunk : of_top, (unsigned long long)size, (unsigned long long)lost_bytes);
  if (before)
    hwi_core_heap_note_overrun(stretch->heap, at, "%s; before it is the block of %llu bytes at %#llx", text,
                               (unsigned long long)hwi_core_block_bytes(before), (unsigned long long)before->address);
  else
    hwi_core_heap_note_damage(stretch->heap, at, "%s", text);
}

static uint64_t step_over_damage(struct stretch *stretch, uint64_t at)
{
  uint64_t size;
  if (!hwi_glibc_size(stretch->glibc, at, &size)) {
    hwi_core_heap_note_damage(stretch->heap, at, "this chunk is not in the image; %llu bytes are not understood",
                              (unsigned long long)(stretch->end - at));
    return stretch->end;
  }
  const uint64_t next = find_sound(stretch, at);
  note_damaged_size(stretch, at, size, next - at);
  return next;
}

static bool take_chunk(struct stretch *stretch, uint64_t at, uint64_t size, enum hwi_core_block_state state)
{
  const struct hwi_glibc_sizes *sizes = &stretch->glibc->sizes;
  struct hwi_core_heap_part *part = &stretch->heap->parts[stretch->part];
  const uint64_t usable = size - (state == HWI_CORE_BLOCK_TOP ? sizes->header : sizes->word);
  part->understood_bytes += size;
  stretch->walked_end = at + size;
  stretch->has_top = state == HWI_CORE_BLOCK_TOP;
  return hwi_core_heap_add_block(stretch->heap, part, at + sizes->header, usable, state);
}

/* Returns whether the top chunk's size was written over, or a thread is writing it. */
static bool is_top_without_size(const struct stretch *stretch, uint64_t at)
{
  const struct hwi_glibc_arena *arena = stretch->arena;
  uint64_t size;
  return stretch->ends_with_top && at == arena->top && hwi_glibc_size(stretch->glibc, at, &size) &&
         !is_sound_top(stretch->glibc, arena, size);
}

static bool take_top_without_size(struct stretch *stretch, uint64_t *at)
{
  uint64_t size;
  const uint64_t begin = *at;
  if (!hwi_glibc_is_in_use(stretch->glibc, stretch->arena) && hwi_glibc_size(stretch->glibc, begin, &size))
    note_damaged_size(stretch, begin, size, 0);
  *at = stretch->end;
  return take_chunk(stretch, begin, stretch->end - begin, HWI_CORE_BLOCK_TOP);
}

static bool take_rest(struct stretch *stretch, uint64_t *at)
{
  const bool is_top = *at == stretch->arena->top;
  const uint64_t begin = *at;
  *at = is_top ? stretch->end : find_sound(stretch, begin);
  return take_chunk(stretch, begin, *at - begin, is_top ? HWI_CORE_BLOCK_TOP : HWI_CORE_BLOCK_FREE);
}

/* Mapped blocks are not searched for where chunks are. */
static bool note_range(const struct stretch *stretch)
{
  struct hwi_glibc *glibc = stretch->glibc;
  if (!hwi_grow((void **)&glibc->ranges, &glibc->range_capacity, glibc->range_count + 1, sizeof *glibc->ranges))
    return false;
  glibc->ranges[glibc->range_count++] = (struct hwi_glibc_range){stretch->begin, stretch->walked_end};
  return true;
}

static bool walk(struct stretch *stretch)
{
  struct hwi_glibc *glibc = stretch->glibc;
  uint64_t size;
  stretch->cached = first_from(glibc->cached, glibc->cached_count, stretch->begin);
  stretch->caches = first_from(glibc->caches, glibc->cache_count, stretch->begin);
  stretch->walked_end = stretch->begin;
  stretch->has_top = false;
  for (uint64_t at = stretch->begin; at < stretch->end && !stretch->has_top;) {
    if (is_top_without_size(stretch, at)) {
      if (!take_top_without_size(stretch, &at))
        return false;
    } else if (read_chunk(stretch, at, &size)) {
      if (!take_chunk(stretch, at, size, state_of(stretch, at, size)))
        return false;
      at += size;
    } else if (is_rest(glibc, stretch->arena, at)) {
      if (!take_rest(stretch, &at))
        return false;
    } else if (!step_over_fences(stretch, &at)) {
      at = step_over_damage(stretch, at);
    }
  }
  return note_range(stretch);
}

/* --- the main arena --- */

static uint64_t top_end(struct hwi_glibc *glibc, const struct hwi_glibc_arena *arena)
{
  uint64_t size;
  const bool is_known = hwi_glibc_size(glibc, arena->top, &size);
  if (glibc->settings.first && is_known && !is_sound_top(glibc, arena, size))
    return glibc->settings.first + arena->system_bytes;
  return is_known ? arena->top + (size & ~(uint64_t)HWI_GLIBC_FLAGS) : arena->top;
}

static uint64_t end_of_region(const struct hwi_glibc *glibc, uint64_t address)
{
  const struct hwi_region *region = hwi_memory_region(glibc->memory, address);
  return region ? region->end : address;
}

/* Walks the stretches in mappings that have no file: each begins with a page. *has_top: the one with the top was walked. */
static bool walk_mapped(const struct stretch *main, bool has_top)
{
  struct hwi_glibc *glibc = main->glibc;
  const struct hwi_core_heap_part *part = &main->heap->parts[main->part];
  for (size_t i = 0; i < glibc->memory->region_count; i++) {
    const struct hwi_region *region = &glibc->memory->regions[i];
    if (!region->is_writable || region->file || (region->begin <= main->begin && main->begin < region->end))
      continue;
    for (uint64_t page = region->begin; page < region->begin + region->known; page += HWI_MEMORY_PAGE_BYTES) {
      struct stretch stretch = *main;
      stretch.ends_with_top = false;
      stretch.begin = hwi_glibc_align(glibc, page);
      stretch.end = region->end;
      if (has_top && part->understood_bytes >= part->system_bytes)
        return true;
      if (!leads_to_end(&stretch, stretch.begin) || stretch.begin == region->end)
        continue;
      if (!walk(&stretch))
        return false;
      has_top |= stretch.has_top;
      while (page + HWI_MEMORY_PAGE_BYTES < stretch.walked_end)
        page += HWI_MEMORY_PAGE_BYTES;
    }
  }
  return true;
}

/* The stretch from where the heap began, up to the top chunk if that is in the same region. */
static bool walk_main(struct hwi_glibc *glibc, struct hwi_core_heap *heap, const struct hwi_glibc_arena *arena,
                      size_t part)
{
  if (arena->system_bytes == 0)
    return true;
  struct stretch stretch = {.glibc = glibc, .heap = heap, .arena = arena, .part = part, .end = top_end(glibc, arena)};
  uint64_t begin = stretch.end - arena->system_bytes;
  if (glibc->settings.is_found && glibc->settings.first) {
    begin = glibc->settings.first;
    const uint64_t region_end = end_of_region(glibc, begin);
    stretch.ends_with_top = stretch.end > arena->top && arena->top > begin && stretch.end <= region_end;
    if (stretch.end <= begin || stretch.end > region_end)
      stretch.end = region_end;
  }
  stretch.begin = hwi_glibc_align(glibc, begin);
  heap->parts[part].understood_bytes += stretch.begin - begin;
  if (!walk(&stretch))
    return false;
  if (heap->parts[part].understood_bytes + stretch.gap_bytes <= arena->system_bytes)
    heap->parts[part].understood_bytes += stretch.gap_bytes;
  return (stretch.has_top && heap->parts[part].understood_bytes >= arena->system_bytes) ||
         walk_mapped(&stretch, stretch.has_top);
}

/* --- the others --- */

static uint64_t sub_heap_max_bytes(const struct hwi_glibc *glibc)
{
  return glibc->sizes.word == sizeof(uint64_t) ? SUB_HEAP_MAX_BYTES : SUB_HEAP_MAX_BYTES_32;
}

static uint64_t sub_heap_of(const struct hwi_glibc *glibc, uint64_t address)
{
  return address & ~(sub_heap_max_bytes(glibc) - 1);
}

static uint64_t arena_end(const struct hwi_glibc *glibc, const struct hwi_glibc_arena *arena)
{
  return hwi_glibc_link(glibc, arena->bins) + ARENA_WORDS_BEHIND_LINK * glibc->sizes.word;
}

/* Chunks begin behind the header, and in the arena's first sub-heap behind the arena. */
static uint64_t first_chunk(struct hwi_glibc *glibc, const struct hwi_glibc_arena *arena, uint64_t sub_heap)
{
  const unsigned word = glibc->sizes.word;
  const uint64_t header_bytes = sub_heap_of(glibc, arena->address) == arena->address
                                    ? SUB_HEAP_HEADER_WORDS * word
                                    : arena->address - sub_heap_of(glibc, arena->address);
  return hwi_glibc_align(glibc, sub_heap_of(glibc, arena->address) == sub_heap ? arena_end(glibc, arena)
                                                                               : sub_heap + header_bytes);
}

static bool walk_other(struct hwi_glibc *glibc, struct hwi_core_heap *heap, const struct hwi_glibc_arena *arena,
                       size_t part)
{
  const unsigned word = glibc->sizes.word;
  struct hwi_glibc_ring ring = {0};
  uint64_t owner, previous, size;
  bool done = true;
  for (uint64_t at = sub_heap_of(glibc, arena->top); done && at; at = previous) {
    if (!hwi_memory_word(&glibc->reader, at, &owner) || !hwi_memory_word(&glibc->reader, at + word, &previous) ||
        !hwi_memory_word(&glibc->reader, at + 2 * word, &size) || owner != arena->address ||
        at != sub_heap_of(glibc, at) || hwi_glibc_is_ring(&ring, at) || size > sub_heap_max_bytes(glibc)) {
      hwi_core_heap_note_damage(heap, at, "here should be a sub-heap of the arena at %#llx",
                                (unsigned long long)arena->address);
      break;
    }
    struct stretch stretch = {.glibc = glibc,
                              .heap = heap,
                              .arena = arena,
                              .part = part,
                              .begin = first_chunk(glibc, arena, at),
                              .end = at + size,
                              .ends_with_top = true};
    heap->parts[part].understood_bytes += stretch.begin - at;
    done = walk(&stretch);
  }
  return done;
}

static bool walk_arena(struct hwi_glibc *glibc, struct hwi_core_heap *heap, const struct hwi_glibc_arena *arena)
{
  char name[sizeof heap->parts->name];
  snprintf(name, sizeof name, arena->is_main ? "main arena" : "arena %#llx", (unsigned long long)arena->address);
  struct hwi_core_heap_part *part = hwi_core_heap_add_part(heap, HWI_CORE_GLIBC, name, arena->address);
  if (!part)
    return false;
  part->own_bytes = arena_end(glibc, arena) - arena->address;
  part->system_bytes = arena->system_bytes;
  const size_t number = heap->part_count - 1;
  return arena->is_main ? walk_main(glibc, heap, arena, number) : walk_other(glibc, heap, arena, number);
}

bool hwi_glibc_walk(struct hwi_glibc *glibc, struct hwi_core_heap *heap)
{
  bool done = true;
  for (size_t i = 0; i < glibc->arena_count && done; i++)
    done = walk_arena(glibc, heap, &glibc->arenas[i]);
  return done;
}
