/* libc_blocks.h - a general heap whose blocks are malloc's, so that valgrind and the sanitizers see each of them */
#ifndef HWI_ALLOCATORS_HEAP_LIBC_BLOCKS_H
#define HWI_ALLOCATORS_HEAP_LIBC_BLOCKS_H

#include "allocators/heap/layout.h"
#include "allocators/setting.h"

/* Returns whether the environment asks for it: HEAPWRIGHT_HEAP_LIBC=1. */
bool hwi_libc_is_wanted(hwi_value_fn *value_of);

/* As hw_heap_alloc_aligned or hw_heap_alloc_zeroed, whose `align` is HW_HEAP_ALIGN. */
void *hwi_libc_alloc(struct hw_heap *heap, size_t align, size_t bytes, bool is_zeroed);

/* As hw_heap_free. What is no block of the heap is not freed: it may be a block of another heap, or of the program's. */
enum hw_heap_fault hwi_libc_free(struct hw_heap *heap, void *block);

/* As hw_heap_usable_bytes. */
size_t hwi_libc_block_bytes(const struct hw_heap *heap, void *block, enum hw_heap_fault *fault);

/* For free and realloc of the process, of any block of libc's: returns whether a heap has it; and takes it out of its
 * heap, if any. Neither waits for anything. */
bool hwi_libc_is_of_heap(const void *block);
void hwi_libc_forget(const void *block);

/* Calls `see` for each block until it returns false. To be called with the lock. */
void hwi_libc_each(const struct hw_heap *heap, hw_heap_visit_fn *see, void *context);

/* Frees all blocks; no other thread uses the heap. */
void hwi_libc_free_all(struct hw_heap *heap);

#endif
