/* no_libc_blocks.c - on Windows, where heapwright knows no checker of memory, a heap's blocks are never malloc's: only the first of
 * these functions is called */
#include "allocators/heap/libc_blocks.h"

bool hwi_libc_is_wanted(hwi_value_fn *value_of)
{
  (void)value_of;
  return false;
}

void *hwi_libc_alloc(struct hw_heap *heap, size_t align, size_t bytes, bool is_zeroed)
{
  (void)heap, (void)align, (void)bytes, (void)is_zeroed;
  return NULL;
}

enum hw_heap_fault hwi_libc_free(struct hw_heap *heap, void *block)
{
  (void)heap, (void)block;
  return HW_HEAP_FOREIGN;
}

size_t hwi_libc_block_bytes(const struct hw_heap *heap, void *block, enum hw_heap_fault *fault)
{
  (void)heap, (void)block;
  *fault = HW_HEAP_FOREIGN;
  return 0;
}

void hwi_libc_each(const struct hw_heap *heap, hw_heap_visit_fn *see, void *context)
{
  (void)heap, (void)see, (void)context;
}

void hwi_libc_free_all(struct hw_heap *heap)
{
  (void)heap;
}
