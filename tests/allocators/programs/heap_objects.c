/* heap_objects.c - a program with a heap of its own, for a checker of memory: "right", or with a leak and writes past the end */
#include <errno.h>
#include <heapwright/heap.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 5000, LEFT = 3 };

static char *blocks[BLOCKS];

static bool count(void *context, void *block, size_t bytes)
{
  (void)block, (void)bytes;
  ++*(int *)context;
  return true;
}

/* Every function does what it does otherwise. Returns how often one did not. */
static int use(struct hw_heap *heap)
{
  int wrong = 0, walked = 0;
  struct hw_heap_stats stats;
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < BLOCKS; i++) {
      blocks[i] = i % 3 == 0   ? hw_heap_alloc_aligned(heap, 256, 10)
                  : i % 3 == 1 ? hw_heap_alloc_zeroed(heap, 20)
                               : hw_heap_alloc(heap, 10 + i);
      wrong += !blocks[i] || (i % 3 == 0 && (uintptr_t)blocks[i] % 256) || (i % 3 == 1 && blocks[i][19]);
      memset(blocks[i], i, 10);
    }
    for (int i = 0; i < BLOCKS; i += 2) {
      blocks[i] = hw_heap_realloc(heap, blocks[i], 100);
      wrong += !blocks[i] || blocks[i][9] != (char)i || hw_heap_usable_bytes(heap, blocks[i]) < 100;
    }
    for (int i = 0; i < (round < 2 ? BLOCKS : BLOCKS - LEFT); i++)
      wrong += hw_heap_free(heap, blocks[i]) != HW_HEAP_OK;
  }
  char *libcs = malloc(10);
  wrong += hw_heap_free(heap, libcs) != HW_HEAP_FOREIGN || hw_heap_realloc(heap, libcs, 20) ||
           hw_heap_resize_in_place(heap, libcs, 5);
  free(libcs);
  char *own = hw_heap_alloc(heap, 10);
  size_t usable = hw_heap_usable_bytes(heap, own);
  wrong += !hw_heap_resize_in_place(heap, own, usable) || hw_heap_resize_in_place(heap, own, usable + 1) ||
           hw_heap_good_bytes(heap, 10) > usable || hw_heap_free(heap, own) != HW_HEAP_OK;
  hw_heap_get_stats(heap, &stats);
  hw_heap_walk(heap, count, &walked);
  hw_heap_collect(heap);
  return wrong + (walked != LEFT) + (stats.used_bytes < LEFT * 10) + (hw_heap_check(heap, NULL) != HW_HEAP_OK) +
         (hw_heap_usable_bytes(heap, &stats) != 0);
}

int main(int argc, char **argv)
{
  (void)argv;
  struct hw_heap *heap = hw_heap_create(NULL, NULL);
  errno = 0;
  int wrong = use(heap);
  wrong += errno != 0 || hw_heap_alloc(heap, SIZE_MAX / 4) || errno != 0;
  if (argc > 1) {
    static char *volatile lost;
    lost = hw_heap_alloc(heap, 123);
    lost = NULL;
    blocks[0] = hw_heap_alloc(heap, 77);
    blocks[0][77] = 1;
    return 0; /* and not destroyed */
  }
  wrong += !hw_heap_destroy(heap);
  printf("wrong: %d\n", wrong);
  return wrong != 0;
}
