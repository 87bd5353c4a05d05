/* heap_module.cc - as heap_module.c, with a heap that C++ destroys when the object is closed */
#include <heapwright/heap.hpp>

static heapwright::unique_heap heap = heapwright::make_heap();

extern "C" int module_use()
{
  void *block = hw_heap_alloc(heap.get(), 100);
  return block ? hw_heap_free(heap.get(), block) : -1;
}
