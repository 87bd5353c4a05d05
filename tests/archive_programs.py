"""archive_programs.py - programs to link with the installed libraries, as pkg-config and CMake say"""

OBJECTS = """#include <heapwright/heap.h>
#include <stdio.h>
int main(void)
{
  struct hw_heap *heap = hw_heap_create(NULL, NULL);
  void *block = hw_heap_alloc(heap, 100);
  if (block && hw_heap_free(heap, block) == HW_HEAP_OK && hw_heap_destroy(heap))
    puts("done");
}
"""
POOL = """#include <heapwright/pool.h>
#include <stdio.h>
static _Alignas(64) unsigned char memory[1 << 16];
int main(void)
{
  if (hw_pool_alloc(hw_pool_init(memory, sizeof memory, 0), 100))
    puts("done");
}
"""
# The heap's malloc gives another block; libc's gives the same one, and ends the program at the second free.
MALLOC = """#include <stdio.h>
#include <stdlib.h>
int main(void)
{
  char *volatile block = malloc(40);
  free(block);
  free(block);
  puts("done");
}
"""
FREED_TWICE = "the block is free already; it stays as it is"
LEAK = """#include <stdlib.h>
void *volatile kept;
int main(void)
{
  kept = malloc(4321);
  return 0;
}
"""
