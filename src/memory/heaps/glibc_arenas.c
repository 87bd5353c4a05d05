/* glibc_arenas.c - finds the arenas of glibc's malloc in the memory of a process
 *
 * An empty bin's two pointers have the address of the bin, as if it were a chunk: the address of the pair less a chunk's
 * header. A bin with chunks is closed: the first chunk points back to it, and so does the last. An arena has 127 bins one
 * after the other; nothing else in memory looks like that, even if not all of them are closed: a program may have written over
 * the links of a free chunk, or a thread was changing them. In front of the bins are the top chunk and the last remainder,
 * before these the fast bins, and behind the bins a map of bits and the link to the next arena. How much there is in front
 * of the bins depends on the version: the ring of links tells it, since a link has the address of an arena, and so the
 * distance to its bins. Most bins are empty, so that the search is for empty ones.
 */
#include <stdlib.h>

#include "memory/heaps/glibc.h"
#include "trace/grow.h"

enum {
  MOST_IN_FRONT = 64 /* words */,
  LEAST_IN_FRONT = 3,
  OLD_FLAGS_BYTES = 16,
  MOST_ARENAS = 65536,
  LEAST_CLOSED = 32 /* bins */
};

static uint64_t bin_of(const struct hwi_glibc *glibc, uint64_t pair)
{
  return pair - glibc->sizes.header;
}

/* How sure it is that two words are a bin. */
enum kind { NO_BIN = 0, OPEN_BIN, CLOSED_BIN, EMPTY_BIN };

/* Returns whether a bin may lead to this address: to itself, or to a chunk. */
static bool may_lead_to(const struct hwi_glibc *glibc, uint64_t bin, uint64_t chunk)
{
  const struct hwi_region *region = chunk == bin || (chunk + glibc->sizes.header) % glibc->sizes.alignment
                                        ? NULL
                                        : hwi_memory_region(glibc->memory, chunk);
  return chunk == bin || (region && region->is_writable);
}

static enum kind kind_of(struct hwi_glibc *glibc, uint64_t pair)
{
  const uint64_t bin = bin_of(glibc, pair), word = glibc->sizes.word, header = glibc->sizes.header;
  uint64_t first, last, back, forward;
  if (!hwi_memory_word(&glibc->reader, pair, &first) || !hwi_memory_word(&glibc->reader, pair + word, &last) ||
      !may_lead_to(glibc, bin, first) || !may_lead_to(glibc, bin, last))
    return NO_BIN;
  if (first == bin && last == bin)
    return EMPTY_BIN;
  return first != bin && last != bin && hwi_memory_word(&glibc->reader, first + header + word, &back) && back == bin &&
                 hwi_memory_word(&glibc->reader, last + header, &forward) && forward == bin
             ? CLOSED_BIN
             : OPEN_BIN;
}

/* Returns whether an arena's bins begin here. */
static bool are_bins(struct hwi_glibc *glibc, uint64_t first)
{
  const uint64_t step = 2 * glibc->sizes.word;
  unsigned closed = 0;
  for (unsigned i = 0; i < HWI_GLIBC_BINS; i++) {
    const enum kind kind = kind_of(glibc, first + i * step);
    if (kind == NO_BIN)
      return false;
    closed += kind != OPEN_BIN;
  }
  return closed >= LEAST_CLOSED;
}

/* Returns the first of the bins around an empty one, or 0. The last one is always empty. */
static uint64_t first_bin(struct hwi_glibc *glibc, uint64_t pair)
{
  const uint64_t step = 2 * glibc->sizes.word;
  enum kind kind;
  uint64_t end = pair + step;
  for (uint64_t at = end; (at - pair) / step < HWI_GLIBC_BINS && (kind = kind_of(glibc, at)) != NO_BIN; at += step)
    if (kind == EMPTY_BIN)
      end = at + step;
  const uint64_t first = end - HWI_GLIBC_BINS * step;
  return are_bins(glibc, first) ? first : 0;
}

/* Returns the bins of the first arena in the region, or 0. */
static uint64_t find_bins(struct hwi_glibc *glibc, const struct hwi_region *region)
{
  const uint64_t word = glibc->sizes.word, step = 2 * word;
  for (uint64_t off = 0; off + step <= region->known; off += word) {
    const uint64_t pair = region->begin + off, bin = bin_of(glibc, pair);
    if (hwi_memory_load(glibc->memory, region->bytes + off) != bin ||
        hwi_memory_load(glibc->memory, region->bytes + off + word) != bin)
      continue;
    const uint64_t first = first_bin(glibc, pair);
    if (first)
      return first;
    off += step - word;
  }
  return 0;
}

/* --- the ring --- */

/* Adds the arena of these bins. Returns false if there is no memory. */
static bool add_arena(struct hwi_glibc *glibc, uint64_t bins)
{
  enum { SYSTEM_OFF = 3 /* words behind the link */, LOCK_BYTES = 4 };
  if (!hwi_grow((void **)&glibc->arenas, &glibc->arena_capacity, glibc->arena_count + 1, sizeof *glibc->arenas))
    return false;
  struct hwi_glibc_arena *arena = &glibc->arenas[glibc->arena_count++];
  *arena = (struct hwi_glibc_arena){.address = bins - glibc->bins_off, .bins = bins};
  const unsigned char *lock = hwi_memory_bytes(&glibc->reader, arena->address, LOCK_BYTES);
  arena->is_locked = lock && hwi_memory_load_32(glibc->memory, lock) != 0;
  hwi_memory_word(&glibc->reader, bins - 2 * glibc->sizes.word, &arena->top);
  hwi_memory_word(&glibc->reader, hwi_glibc_link(glibc, bins) + SYSTEM_OFF * glibc->sizes.word, &arena->system_bytes);
  return true;
}

/* Adds all arenas of the ring that begins at these bins. Returns false if the ring is not closed with this distance, or if
 * there is no memory. */
static bool follow_ring(struct hwi_glibc *glibc, uint64_t bins, unsigned bins_off)
{
  uint64_t at = bins, next = 0;
  glibc->bins_off = bins_off;
  glibc->arena_count = 0;
  do {
    if (!add_arena(glibc, at) || !hwi_memory_word(&glibc->reader, hwi_glibc_link(glibc, at), &next))
      return false;
    at = next + bins_off;
  } while (at != bins && are_bins(glibc, at) && glibc->arena_count < MOST_ARENAS);
  return at == bins;
}

/* A version with fast bins has as many of them as there is room between its flags and the top chunk. */
static void measure_front(struct hwi_glibc *glibc)
{
  const unsigned word = glibc->sizes.word;
  const unsigned before_top = glibc->bins_off - 2 * word;
  glibc->fast_off = word == sizeof(uint64_t) ? OLD_FLAGS_BYTES : OLD_FLAGS_BYTES - 4;
  glibc->fast_count = before_top > glibc->fast_off ? (before_top - glibc->fast_off) / word : 0;
}

/* The main arena is the one that is not in memory of malloc itself: its address is not that of a sub-heap. */
static void put_main_first(struct hwi_glibc *glibc)
{
  enum { NOT_IN_SUB_HEAP = 4096 };
  for (size_t i = 0; i < glibc->arena_count; i++) {
    const struct hwi_region *region = hwi_memory_region(glibc->memory, glibc->arenas[i].address);
    const bool is_in_file = region && region->file;
    if (!is_in_file && glibc->arenas[i].address % ((uint64_t)1 << 20) < NOT_IN_SUB_HEAP)
      continue;
    const struct hwi_glibc_arena arena = glibc->arenas[i];
    memmove(glibc->arenas + 1, glibc->arenas, i * sizeof arena);
    glibc->arenas[0] = arena;
    glibc->arenas[0].is_main = true;
    return;
  }
}

/* Returns false if there is no ring. */
static bool find_ring(struct hwi_glibc *glibc, uint64_t bins)
{
  for (unsigned words = LEAST_IN_FRONT; words <= MOST_IN_FRONT; words++)
    if (follow_ring(glibc, bins, words * glibc->sizes.word)) {
      measure_front(glibc);
      put_main_first(glibc);
      return true;
    }
  glibc->arena_count = 0;
  return false;
}

static bool find_in_regions(struct hwi_glibc *glibc, bool of_files)
{
  const struct hwi_memory *memory = glibc->memory;
  for (size_t i = 0; i < memory->region_count; i++) {
    const struct hwi_region *region = &memory->regions[i];
    if (region->is_writable && !region->file == !of_files) {
      const uint64_t bins = find_bins(glibc, region);
      if (bins && find_ring(glibc, bins))
        return true;
    }
  }
  return false;
}

bool hwi_glibc_find_arenas(struct hwi_glibc *glibc)
{
  return find_in_regions(glibc, true) || find_in_regions(glibc, false);
}
