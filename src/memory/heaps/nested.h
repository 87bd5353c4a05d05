/* nested.h - heaps whose memory is a block of another heap: a pool that a program made in memory from malloc */
#ifndef HWI_MEMORY_HEAPS_NESTED_H
#define HWI_MEMORY_HEAPS_NESTED_H

#include "memory/heaps/heap.h"

/* To be called when all parts are known, before blocks are sorted. A live block that holds parts is no block any more: the
 * program's blocks are those in it. Parts in free memory are those of a heap that was given up: they are taken out.
 * Returns false if there is no memory. */
bool hwi_core_heap_settle_nested(struct hwi_core_heap *heap);

#endif
