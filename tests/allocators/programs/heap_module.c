/* heap_module.c - a shared object with a general heap of its own, which test_heap.py closes while a thread that used it goes on */
#include <heapwright/heap.h>

static struct hw_heap *heap;

int module_use(void)
{
  if (!heap)
    heap = hw_heap_create(NULL, NULL);
  void *block = hw_heap_alloc(heap, 100);
  return block ? hw_heap_free(heap, block) : -1;
}

#ifdef ENDS_BY_ITSELF
static void module_end(void) __attribute__((destructor));
#endif

void module_end(void)
{
  hw_heap_destroy(heap);
}
