/* jemalloc.h - the heap of jemalloc 5.3, in processes with words of 8 bytes and pages of 4096
 *
 * No symbols are needed: bases, the tree and tcaches are recognized by what they must look like.
 *
 * extent     whole pages for one purpose: a slab, one large block, or free. jemalloc calls its description an edata.
 * slab       an extent with blocks of one size. A map has one bit for each block: 1 is free.
 * class      a size of blocks. Extents have its place in the list of all sizes, which depends on the quantum.
 * quantum    the distance between the smallest sizes: 16 in most builds, 8 in the one that comes with Redis.
 * tree       leads from a page to its extent. Its root is in the data of the module that has jemalloc.
 * tcache     the blocks that a thread keeps. The maps of slabs have them as used.
 * base       memory for jemalloc's own structures, at a multiple of 2 MiB.
 * retained   addresses without memory, which jemalloc keeps for later. They are no part of the heap.
 */
#ifndef HWI_MEMORY_HEAPS_JEMALLOC_JEMALLOC_H
#define HWI_MEMORY_HEAPS_JEMALLOC_JEMALLOC_H

#include "memory/heaps/heap.h"
#include "memory/heaps/kept.h"

enum {
  HWI_JEMALLOC_PAGE_BYTES = 4096,
  HWI_JEMALLOC_SLAB_BLOCKS_MOST = 512,
};

enum hwi_jemalloc_state {
  HWI_JEMALLOC_ACTIVE,
  HWI_JEMALLOC_DIRTY,
  HWI_JEMALLOC_MUZZY,
  HWI_JEMALLOC_RETAINED,
  HWI_JEMALLOC_MOVING, /* between the others */
  HWI_JEMALLOC_MERGING,
  HWI_JEMALLOC_STATES,
};

struct hwi_jemalloc_extent {
  uint64_t at;             /* its description */
  uint64_t address, bytes; /* `address` may be behind the begin of the first page, if it is a large block */
  enum hwi_jemalloc_state state;
  unsigned arena, class, free_count;
  bool is_slab;
};

struct hwi_jemalloc_base {
  uint64_t begin, end, unused; /* from `unused` on */
};

/* The tree has levels of nodes. The lowest nodes are leaves: each of their entries is about one page. */
struct hwi_jemalloc_shape {
  unsigned levels, bits; /* of a page's number, for one level */
  unsigned leaf_entry_bytes;
};

/* All zero: nothing was found. */
struct hwi_jemalloc {
  const struct hwi_memory *memory;
  struct hwi_memory_reader reader, nodes, descriptions; /* each stays in its own region */
  struct hwi_jemalloc_base *bases;
  size_t base_count, base_capacity;
  const struct hwi_jemalloc_shape *shape;
  uint64_t root;
  struct hwi_jemalloc_extent *extents; /* sorted by arena, then by address */
  size_t extent_count, extent_capacity;
  uint64_t damaged_bytes; /* of pages that belong to no sound extent */
  uint64_t quantum;
  struct hwi_kept_list kept; /* by tcaches, and their own memory */
  bool is_changing;          /* a thread is inside of jemalloc */
  uint64_t steps_left;       /* a forged tree would have the same node in every place */
  uint64_t blocks_left;      /* there is no room for more */
};

/* Finds the heap. Returns 0, HW_ERR_USAGE without a text if there is none, or HW_ERR_MEMORY. */
int hwi_jemalloc_find(struct hwi_core_heap *heap, const struct hwi_memory *memory, struct hwi_error *error);

/* The steps of that. All but the second return false if there is no memory. */
bool hwi_jemalloc_find_bases(struct hwi_jemalloc *jemalloc);
bool hwi_jemalloc_find_tree(struct hwi_jemalloc *jemalloc); /* returns whether there is one */
bool hwi_jemalloc_find_extents(struct hwi_jemalloc *jemalloc, struct hwi_core_heap *heap);
bool hwi_jemalloc_find_kept(struct hwi_jemalloc *jemalloc);
bool hwi_jemalloc_take_blocks(struct hwi_jemalloc *jemalloc, struct hwi_core_heap *heap);
bool hwi_jemalloc_take_bases(const struct hwi_jemalloc *jemalloc, struct hwi_core_heap *heap);

/* Returns the number of classes of slabs, which are the first ones. */
static inline unsigned hwi_jemalloc_small_count(uint64_t quantum)
{
  enum { REDIS_QUANTUM = 8, REDIS_COUNT = 39, COUNT = 36 };
  return quantum == REDIS_QUANTUM ? REDIS_COUNT : COUNT;
}

/* Returns the bytes of a block of the class, or 0 if there is no such class. */
uint64_t hwi_jemalloc_class_bytes(uint64_t quantum, unsigned class);

#endif
