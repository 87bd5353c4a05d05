/* internal.h - what the pool's files share beside its layout */
#ifndef HWI_ALLOCATORS_TLSF_INTERNAL_H
#define HWI_ALLOCATORS_TLSF_INTERNAL_H

#include "allocators/tlsf/layout.h"

/* Makes new memory free: `block` has its header, of a used block, and its neighbours theirs. Adds it to the capacity. Where
 * a free neighbour was written to, it stays used. */
__attribute__((visibility("hidden"))) void hwi_pool_give(struct hw_pool *pool, struct block *block);

#endif
