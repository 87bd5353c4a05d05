/* pool.h - the blocks of this project's own pool (heapwright/pool.h), wherever it is: of a process, of a part of it, of a board
 *
 * Terms are those of allocators/tlsf/layout.h. The pool may have been made for words of another size or byte order.
 */
#ifndef HWI_MEMORY_HEAPS_POOL_H
#define HWI_MEMORY_HEAPS_POOL_H

#include "memory/heaps/heap.h"

/* Adds all pools, also those that were given up (nested.h). Returns 0, HW_ERR_USAGE if there is none, or HW_ERR_MEMORY. */
int hwi_pool_find(struct hwi_core_heap *heap, const struct hwi_memory *memory, struct hwi_error *error);

#endif
