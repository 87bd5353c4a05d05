/* process_owner.h - what the heap of a process uses of a general heap: it has its own way to a thread's owner */
#ifndef HWI_ALLOCATORS_HEAP_PROCESS_OWNER_H
#define HWI_ALLOCATORS_HEAP_PROCESS_OWNER_H

#include "allocators/heap/layout.h"

/* As hw_heap_create, but in memory of the caller, which is all zero; the caller begins and ends the owners, and calls the
 * functions of forks.c. Needs no memory. Returns false if the config is wrong. */
bool hwi_heap_begin(struct hw_heap *heap, const struct hw_heap_config *config, struct hw_heap_error *error);

/* Resizes a block in place, or by moving its mapping, and changes *block then. Returns false if it must be copied. */
bool hwi_heap_resize(struct hw_heap *heap, void **block, size_t old_bytes, size_t bytes);

/* `owner` is the calling thread's, or NULL. */
void hwi_heap_get_stats(struct hw_heap *heap, const struct hwi_owner *owner, struct hw_heap_stats *stats);

#endif
