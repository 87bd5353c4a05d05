/* glibc.h - the heap of the GNU C library's malloc, versions 2.26 to 2.42
 *
 * No symbols are needed: arenas, caches and settings are recognized by what they must look like.
 *
 * chunk      a block with the word before it: its size, whose lowest bits are flags. Chunks follow each other without gaps.
 *            The flag "previous in use" of a chunk says whether the chunk before it is free; if so, the word before the
 *            size has that one's size, too.
 * arena      lists of free chunks, for the threads that use it. The main arena is in the library's data, the others are at
 *            the start of memory of their own. They are linked in a ring.
 * bin        a doubly linked list of free chunks, whose head is a pair of pointers in the arena.
 * fast bin   a singly linked list of small chunks. They are free, but their flags say "in use".
 * tcache     such lists for each thread, in a chunk of its own.
 * sub-heap   memory of an arena other than the main one, at a multiple of its greatest size.
 * protected  a link of a fast bin or a tcache is xored with its own address / 4096, since 2.32.
 */
#ifndef HWI_MEMORY_HEAPS_GLIBC_H
#define HWI_MEMORY_HEAPS_GLIBC_H

#include "memory/heaps/heap.h"

enum {
  HWI_GLIBC_BINS = 127, /* pairs of pointers */
  HWI_GLIBC_PREVIOUS_IN_USE = 1,
  HWI_GLIBC_IS_MAPPED = 2,
  HWI_GLIBC_NOT_MAIN = 4,
  HWI_GLIBC_FLAGS = 7,
};

/* Sizes that depend on the word of the process. */
struct hwi_glibc_sizes {
  unsigned word;
  unsigned header;    /* from a chunk to its block */
  unsigned alignment; /* of blocks */
  unsigned least;     /* of a chunk */
};

struct hwi_glibc_arena {
  uint64_t address, bins; /* `bins` is a part of it */
  uint64_t top;           /* the chunk from which it grows */
  uint64_t system_bytes;
  bool is_main;
  bool is_locked; /* a thread was using it */
};

/* Settings of the library, if they were found. */
struct hwi_glibc_settings {
  bool is_found;
  uint64_t first;        /* where the main arena began to grow; 0: it did not */
  uint64_t mapped_count; /* chunks that are mapped alone */
  uint64_t mapped_bytes;
};

/* Addresses with chunks of an arena. */
struct hwi_glibc_range {
  uint64_t begin, end;
};

/* All zero: nothing was found. */
struct hwi_glibc {
  const struct hwi_memory *memory;
  struct hwi_memory_reader reader;
  struct hwi_glibc_sizes sizes;
  unsigned bins_off, fast_off, fast_count; /* within an arena */
  bool protects;                           /* links are protected */
  struct hwi_glibc_arena *arenas;          /* the main one first, if it was found */
  size_t arena_count, arena_capacity;
  struct hwi_glibc_settings settings;
  struct hwi_glibc_range *ranges; /* that were walked, sorted by hwi_glibc_find_mapped */
  size_t range_count, range_capacity;
  uint64_t *cached; /* blocks in fast bins and tcaches, sorted */
  size_t cached_count, cached_capacity;
  uint64_t *caches; /* blocks that are tcaches, sorted */
  size_t cache_count, cache_capacity;
  uint64_t steps_left;  /* for chunks that are only tried: a forged heap would have them tried from everywhere */
  uint64_t cached_most; /* there is no room for more */
};

/* Finds the heap. Returns 0, HW_ERR_USAGE if there is none, or HW_ERR_MEMORY. */
int hwi_glibc_find(struct hwi_core_heap *heap, const struct hwi_memory *memory, struct hwi_error *error);

/* Returns in which list of free blocks a block is that is free or cached: "a tcache", "the unsorted bin", ..., or NULL if it is
 * none of this allocator's. The text is static. */
const char *hwi_glibc_list_of(const struct hwi_memory *memory, const struct hwi_core_block *block);

/* What the search begins with. */
struct hwi_glibc hwi_glibc_of(const struct hwi_memory *memory);
void hwi_glibc_release(struct hwi_glibc *glibc);

/* The steps of that. Each returns false if there is no memory. */
bool hwi_glibc_find_arenas(struct hwi_glibc *glibc);
void hwi_glibc_find_settings(struct hwi_glibc *glibc);
bool hwi_glibc_find_cached(struct hwi_glibc *glibc, struct hwi_core_heap *heap);
bool hwi_glibc_walk(struct hwi_glibc *glibc, struct hwi_core_heap *heap);
bool hwi_glibc_find_mapped(struct hwi_glibc *glibc, struct hwi_core_heap *heap);

/* Notes damage of the lists in bins, of arenas that no thread was changing. */
void hwi_glibc_check_bins(struct hwi_glibc *glibc, struct hwi_core_heap *heap);
/* Returns whether a block is in a fast bin, after hwi_glibc_find_cached. */
bool hwi_glibc_is_in_fast_bin(struct hwi_glibc *glibc, uint64_t block);

/* Returns the address of an arena's link to the next one, which is behind the bins and a map of bits. */
static inline uint64_t hwi_glibc_link(const struct hwi_glibc *glibc, uint64_t bins)
{
  enum { MAP_BYTES = 16 };
  return bins + HWI_GLIBC_BINS * 2 * glibc->sizes.word + MAP_BYTES;
}

/* Reads the size of a chunk, with its flags. Returns false if it is not known. */
static inline bool hwi_glibc_size(struct hwi_glibc *glibc, uint64_t chunk, uint64_t *size)
{
  return hwi_memory_word(&glibc->reader, chunk + glibc->sizes.word, size);
}

/* Returns whether a chunk may have that size. */
static inline bool hwi_glibc_size_is_sound(const struct hwi_glibc *glibc, uint64_t size)
{
  size &= ~(uint64_t)HWI_GLIBC_FLAGS;
  return size >= glibc->sizes.least && size % glibc->sizes.alignment == 0;
}

/* Returns whether a thread was using the arena, and would have gone on: then it may be in the middle of a change. */
static inline bool hwi_glibc_is_in_use(const struct hwi_glibc *glibc, const struct hwi_glibc_arena *arena)
{
  return glibc->memory->signal == 0 && arena->is_locked;
}

/* Returns the first place for a chunk at or behind an address: so that its block is aligned. */
static inline uint64_t hwi_glibc_align(const struct hwi_glibc *glibc, uint64_t address)
{
  const uint64_t alignment = glibc->sizes.alignment;
  const uint64_t block = address + glibc->sizes.header;
  return (block + alignment - 1) / alignment * alignment - glibc->sizes.header;
}

/* To notice that a damaged list never ends. All zero at its start. */
struct hwi_glibc_ring {
  uint64_t marked, steps;
};

/* To be called with each item of a list. Returns true if it was met before: within twice the length of the ring. */
static inline bool hwi_glibc_is_ring(struct hwi_glibc_ring *ring, uint64_t item)
{
  if (ring->steps && item == ring->marked)
    return true;
  if ((ring->steps & (ring->steps - 1)) == 0)
    ring->marked = item;
  ring->steps++;
  return false;
}

#endif
