/* process_owner.h - what the heap of a process uses of a general heap: it has its own way to a thread's owner */
#ifndef HWI_ALLOCATORS_HEAP_PROCESS_OWNER_H
#define HWI_ALLOCATORS_HEAP_PROCESS_OWNER_H

#include "allocators/heap/layout.h"

/* As hw_heap_create, but in memory of the caller, which is all zero; the caller begins and ends the owners, and calls the
 * functions of forks.c. Returns false if the config is wrong, or, if `threads` is central or single, there is no memory. */
bool hwi_heap_begin(struct hw_heap *heap, const struct hw_heap_config *config, struct hw_heap_error *error);

/* Resizes a block in place, or by moving its mapping, and changes *block then. Returns false if it must be copied. */
bool hwi_heap_resize(struct hw_heap *heap, void **block, size_t old_bytes, size_t bytes);

/* As hw_heap_collect, but `most_bytes` of free memory may stay; `owner` is the calling thread's, or NULL. Returns how many bytes
 * went back to the system. */
size_t hwi_heap_collect(struct hw_heap *heap, struct hwi_owner *owner, size_t most_bytes);

/* The figures of all classes as text, with a line for each, so that it can be written at once. */
struct hwi_heap_table {
  size_t bytes;
  char text[8 << 10];
};

void hwi_heap_make_table(struct hw_heap *heap, struct hwi_heap_table *table);

#endif
