/* tcmalloc.h - the heap of tcmalloc of gperftools 2.10, in processes with words of 8 bytes
 *
 * No symbols are needed: its structures are recognized by what they must look like.
 *
 * page      8192 bytes at a multiple of that.
 * span      consecutive pages for one purpose: blocks of one size, one large block, or free. Free blocks of a span are in a list.
 * class     a size of blocks, and the number of pages of spans for it.
 * map       leads from a page to its span, in two levels. The root is in the data of the module that has tcmalloc. The first and the
 *           last page of a span are in it, and all pages of spans for blocks of one size; others may have a span that is no more.
 * kept      in lists of threads, and in central lists of blocks that threads gave back. Their spans count them as used.
 * returned  pages that the kernel took back. They are no part of the heap.
 * own       an object of a class of tcmalloc itself, which has it in a block: its virtual functions are in the library.
 */
#ifndef HWI_MEMORY_HEAPS_TCMALLOC_TCMALLOC_H
#define HWI_MEMORY_HEAPS_TCMALLOC_TCMALLOC_H

#include "memory/heaps/heap.h"
#include "memory/heaps/kept.h"

enum {
  HWI_TCMALLOC_PAGE_SHIFT = 13,
  HWI_TCMALLOC_PAGE_BYTES = 1 << HWI_TCMALLOC_PAGE_SHIFT,
  HWI_TCMALLOC_CLASSES = 128,
  HWI_TCMALLOC_CLASS_PAGES_MOST = 256,
  HWI_TCMALLOC_CENTRAL_BYTES =
      1216, /* for each class: a central list, with the first span of which all blocks are used, */
  HWI_TCMALLOC_CENTRAL_USED_OFF = 32,
  HWI_TCMALLOC_CENTRAL_FREE_OFF = 80, /* and the first one of the others */
};

/* All zero: nothing was found. */
struct hwi_tcmalloc {
  const struct hwi_memory *memory;
  struct hwi_memory_reader reader, nodes, spans, blocks; /* each stays in its own region */
  uint64_t classes;                                      /* the list of sizes */
  uint32_t sizes[HWI_TCMALLOC_CLASSES];                  /* class 0 has none */
  uint64_t pages[HWI_TCMALLOC_CLASSES];
  unsigned class_count;
  uint64_t central; /* the first central list */
  uint64_t root;
  uint64_t library_begin, library_end; /* of the library that is tcmalloc; 0: it is none, but a part of the program */
  struct hwi_kept_list kept;
  uint64_t steps_left;  /* a forged map would have the same node in every place */
  uint64_t blocks_left; /* there is no room for more */
};

/* Finds the heap. Returns 0, HW_ERR_USAGE, with a text if it is of another version, or HW_ERR_MEMORY. */
int hwi_tcmalloc_find(struct hwi_core_heap *heap, const struct hwi_memory *memory, struct hwi_error *error);

/* The steps of that. Each returns whether it was found. */
bool hwi_tcmalloc_find_classes(struct hwi_tcmalloc *tcmalloc);
bool hwi_tcmalloc_find_central(struct hwi_tcmalloc *tcmalloc);
bool hwi_tcmalloc_find_map(struct hwi_tcmalloc *tcmalloc);

/* Finds the library. */
void hwi_tcmalloc_find_library(struct hwi_tcmalloc *tcmalloc);
/* Returns whether a block that is used has an object of tcmalloc's own. */
bool hwi_tcmalloc_is_own(struct hwi_tcmalloc *tcmalloc, uint64_t block);

/* Return false if there is no memory. */
bool hwi_tcmalloc_find_kept(struct hwi_tcmalloc *tcmalloc);
bool hwi_tcmalloc_take_spans(struct hwi_tcmalloc *tcmalloc, struct hwi_core_heap *heap);

/* Reads an integer of 4 bytes. Returns false if it is not known. */
static inline bool hwi_tcmalloc_read_32(struct hwi_tcmalloc *tcmalloc, uint64_t address, uint32_t *number)
{
  const unsigned char *bytes = hwi_memory_bytes(&tcmalloc->reader, address, sizeof *number);
  if (bytes)
    *number = hwi_memory_load_32(tcmalloc->memory, bytes);
  return bytes;
}

#endif
