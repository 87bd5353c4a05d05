/* single_heap.c - a program with the heap as one file: heaps in several threads, and, with HEAPWRIGHT_HEAP_MALLOC, malloc. Prints
 * "done" if everything succeeded */
#define HEAPWRIGHT_HEAP_IMPLEMENTATION
#include "heapwright-heap.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

enum { BLOCKS = 500, STEPS = 20000, THREADS = 3 };

static struct hw_heap *shared_heap;
static unsigned char *volatile slots[THREADS + 1][BLOCKS];

/* Each block is as long as its first two bytes say, and filled. */
static bool take_back(unsigned char *block)
{
  size_t bytes = block ? block[0] + 256u * block[1] : 0;
  for (size_t i = 2; i < bytes; i++)
    if (block[i] != block[0])
      return false;
  return hw_heap_free(shared_heap, block) == HW_HEAP_OK;
}

static void *use(void *own)
{
  unsigned char *volatile *mine = (unsigned char *volatile *)own;
  unsigned seed = (unsigned)((uintptr_t)own >> 4) | 1;
  for (int i = 0; i < STEPS; i++) {
    seed = seed * 1103515245 + 12345;
    unsigned which = seed / 65536 % BLOCKS, bytes = 2 + seed / 7 % (1u << seed / 65536 % 16);
    if (!take_back(mine[which]))
      return NULL;
    unsigned char *block = (unsigned char *)hw_heap_alloc(shared_heap, bytes);
    if (!block)
      return NULL;
    memset(block, (unsigned char)bytes, bytes);
    block[1] = (unsigned char)(bytes / 256);
    mine[which] = block;
  }
  return own;
}

static bool use_in_threads(void)
{
  pthread_t threads[THREADS];
  bool is_right = true;
  void *result;
  for (int i = 0; i < THREADS; i++)
    is_right &= pthread_create(&threads[i], NULL, use, (void *)slots[i]) == 0;
  is_right &= use((void *)slots[THREADS]) != NULL;
  for (int i = 0; i < THREADS; i++)
    is_right &= pthread_join(threads[i], &result) == 0 && result;
  for (int i = 0; i <= THREADS; i++)
    for (int k = 0; k < BLOCKS; k++)
      is_right &= take_back(slots[i][k]);
  struct hw_heap_stats stats;
  hw_heap_collect(shared_heap);
  hw_heap_get_stats(shared_heap, &stats);
  return is_right && stats.used_bytes == 0 && hw_heap_check(shared_heap, NULL) == HW_HEAP_OK;
}

static bool fork_works(void)
{
  int status = 1;
  pid_t child = fork();
  if (!child)
    _exit(hw_heap_free(shared_heap, hw_heap_alloc(shared_heap, 100)));
  return waitpid(child, &status, 0) == child && status == 0;
}

#ifdef HEAPWRIGHT_HEAP_MALLOC
static bool has_malloc(void)
{
  hw_heap_push(shared_heap);
  void *block = calloc(3, 1000), *other = NULL;
  bool is_in_heap = hw_heap_usable_bytes(shared_heap, block) > 0;
  hw_heap_pop();
  other = malloc(100);
  is_in_heap &= hw_heap_usable_bytes(shared_heap, other) == 0;
  free(block);
  free(other);
  return is_in_heap;
}
#else
static bool has_malloc(void)
{
  return true;
}
#endif

int main(void)
{
  shared_heap = hw_heap_create(NULL, NULL);
  if (!shared_heap || !use_in_threads() || !fork_works() || !has_malloc() || !hw_heap_destroy(shared_heap))
    return 1;
  puts("done");
  return 0;
}
