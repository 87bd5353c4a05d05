/* internal.h - internal functions that the pool's files share */
#ifndef HWI_ALLOCATORS_TLSF_INTERNAL_H
#define HWI_ALLOCATORS_TLSF_INTERNAL_H

#include "allocators/tlsf/layout.h"

/* Frees new memory and adds it to the capacity. `block` must already have the header of a used block, and its
 * neighbours must have theirs. If a free neighbour was overwritten, the new block stays used. */
__attribute__((visibility("hidden"))) void hwi_pool_give(struct hw_pool *pool, struct block *block);

#endif
