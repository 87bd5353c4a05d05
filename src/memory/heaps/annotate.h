/* annotate.h - the owners that libheapwright-annotate.so, or the header of that name, wrote in front of blocks
 *
 * docs/annotate.md describes what is in memory. The root, the table of stacks and the headers have the same layout for all
 * words and byte orders, except for the words of frames.
 */
#ifndef HWI_MEMORY_HEAPS_ANNOTATE_H
#define HWI_MEMORY_HEAPS_ANNOTATE_H

#include "memory/heaps/heap.h"

enum { HWI_ANNOTATE_POISON = 0xdf }; /* each byte of a freed block that is kept */

/* Finds the owners of the blocks of a heap that is known, and sorts the blocks. Where the allocator is not known (the heap has no parts), the blocks
 * are found by their headers. Does nothing if the memory has none. Returns 0, or HW_ERR_MEMORY. */
int hwi_annotate_find(struct hwi_core_heap *heap, const struct hwi_memory *memory, struct hwi_error *error);

#endif
