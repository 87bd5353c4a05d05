/* mimalloc.h - the blocks of mimalloc 2.0 (release builds for words of 64 bits)
 *
 * segment    32 MiB, or more for a block that is larger than that, at a multiple of 32 MiB. It begins with its header, which has an
 *            entry for each of its slices.
 * slice      64 KiB of a segment.
 * page       consecutive slices with blocks of one size. The entry of its first slice describes it.
 * capacity   so many blocks of a page have been handed out or are in its lists; those behind them have not been touched yet.
 */
#ifndef HWI_MEMORY_HEAPS_MIMALLOC_H
#define HWI_MEMORY_HEAPS_MIMALLOC_H

#include "memory/heaps/heap.h"

/* Adds its blocks. Returns 0, HW_ERR_USAGE if there is none, or HW_ERR_MEMORY. */
int hwi_mimalloc_find(struct hwi_core_heap *heap, const struct hwi_memory *memory, struct hwi_error *error);

#endif
