/* process_owner.h - what the heap of a process uses of a general heap: it has its own way to a thread's owner */
#ifndef HWI_ALLOCATORS_HEAP_PROCESS_OWNER_H
#define HWI_ALLOCATORS_HEAP_PROCESS_OWNER_H

#include "allocators/heap/layout.h"

/* As hw_heap_create, but the caller begins and ends the owners. */
struct hw_heap *hwi_heap_make(const struct hw_heap_config *config, struct hw_heap_error *error);

/* Resizes a block in place, or by moving its mapping, and changes *block then. Returns false if it must be copied. */
bool hwi_heap_resize(struct hw_heap *heap, void **block, size_t old_bytes, size_t bytes);

/* `owner` is the calling thread's, or NULL. */
void hwi_heap_collect(struct hw_heap *heap, struct hwi_owner *owner);

#endif
