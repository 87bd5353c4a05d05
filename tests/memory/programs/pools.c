/* pools.c - threads that allocate and free on malloc, and a pool of the program's own
 *
 *   pools LIST THREADS OWN   OWN: none; block, in one from malloc; static, with a second region; freed, in a block that is free
 *                            again; damaged, with one block that was written over and one that was written to after its free;
 *                            ended: none, and the threads end
 *
 * Writes its live blocks to LIST ("ADDRESS USABLE"; "bad ADDRESS" for what is damaged), prints a line and waits. Compiled with
 * NO_POOL, it has no pool of its own.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef NO_POOL
#include "heapwright/pool.h"
#endif

enum { BLOCKS = 3000, THREADS_MAX = 8 };

static void *blocks[THREADS_MAX][BLOCKS];
static pthread_barrier_t barrier;
static int threads, is_to_end;

static unsigned next_random(unsigned *seed)
{
  return *seed = *seed * 1103515245u + 12345u, *seed >> 8;
}

static void *allocate(unsigned *seed)
{
  const unsigned kind = next_random(seed) % 1000;
  const size_t bytes = kind < 900   ? next_random(seed) % 600
                       : kind < 998 ? next_random(seed) % 40000
                                    : next_random(seed) % 1000000;
  void *block = kind % 50 ? malloc(bytes) : NULL;
  if (!block && posix_memalign(&block, 64 << kind % 7, bytes))
    abort();
  memset(block, 0xff, bytes);
  return kind % 7 ? block : memset(realloc(block, bytes * 3 + 1), 0xff, bytes * 3);
}

/* As far away from the start of its memory as no header may be able to say. */
static void *allocate_aligned(void)
{
  void *block = NULL;
  if (posix_memalign(&block, 4 << 20, 5000))
    abort();
  return block;
}

/* Fills its row, and frees a part of the row of the next thread. */
static void *work(void *row)
{
  const int number = (int)(long)row;
  unsigned seed = (unsigned)number + 1;
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < BLOCKS; i++)
      if (!blocks[number][i])
        blocks[number][i] = i == 0 ? allocate_aligned() : allocate(&seed);
    pthread_barrier_wait(&barrier);
    void **others = blocks[(number + 1) % threads];
    for (int i = 1; i < BLOCKS; i++)
      if (next_random(&seed) % 3 == 0) {
        free(others[i]);
        others[i] = NULL;
      }
    pthread_barrier_wait(&barrier);
  }
  pthread_barrier_wait(&barrier);
  if (!is_to_end)
    pause();
  return NULL;
}

#ifndef NO_POOL
enum { OWN_BYTES = 1 << 20, OWN_BLOCKS = 2000 };

static _Alignas(16) char own[OWN_BYTES], more[OWN_BYTES];
void *keep; /* keeps a free block from being joined with the end of the heap */

static void damage(FILE *list, struct hw_pool *pool)
{
  char *first = hw_pool_alloc(pool, 100), *second = hw_pool_alloc(pool, 100), *freed = hw_pool_alloc(pool, 100);
  hw_pool_alloc(pool, 100);
  hw_pool_free(pool, freed);
  memset(first, 'x', hw_pool_usable_bytes(pool, first) + 3);
  memset(freed, 'y', 100);
  fprintf(list, "%p %zu\nbad %p\nbad %p\n", (void *)first, (size_t)104, (void *)(second - sizeof(void *)),
          (void *)freed);
}

static void fill_own(FILE *list, const char *kind)
{
  enum { IN_BLOCK = 100000 }; /* the start of a free block is soon used again */
  const int is_in_block = !strcmp(kind, "block") || !strcmp(kind, "freed");
  char *memory = is_in_block ? malloc(IN_BLOCK + OWN_BYTES) : own;
  struct hw_pool *pool = hw_pool_init(is_in_block ? memory + IN_BLOCK : memory, OWN_BYTES, 0);
  void *mine[OWN_BLOCKS];
  unsigned seed = 9;
  if (!strcmp(kind, "static") && !hw_pool_add_region(pool, more + 32, OWN_BYTES - 101))
    abort();
  for (int i = 0; i < OWN_BLOCKS; i++)
    mine[i] = hw_pool_alloc(pool, next_random(&seed) % 1500);
  for (int i = 0; i < OWN_BLOCKS; i += 3) {
    hw_pool_free(pool, mine[i]);
    mine[i] = NULL;
  }
  if (!strcmp(kind, "damaged"))
    damage(list, hw_pool_init(more, OWN_BYTES, 0));
  if (!strcmp(kind, "freed")) {
    keep = malloc(1000);
    fprintf(list, "%p %zu\n", keep, malloc_usable_size(keep));
    free(memory);
    return;
  }
  for (int i = 0; i < OWN_BLOCKS; i++)
    if (mine[i])
      fprintf(list, "%p %zu\n", mine[i], hw_pool_usable_bytes(pool, mine[i]));
}
#endif

int main(int count, char **words)
{
  pthread_t started[THREADS_MAX];
  FILE *list = fopen(words[1], "w");
  threads = atoi(words[2]);
  is_to_end = !strcmp(words[3], "ended");
  pthread_barrier_init(&barrier, NULL, (unsigned)threads + 1);
#ifndef NO_POOL
#ifdef M_MMAP_THRESHOLD
  mallopt(M_MMAP_THRESHOLD, 1 << 30); /* memory that is free again stays */
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
  if (strcmp(words[3], "none") && !is_to_end)
    fill_own(list, words[3]);
#endif
  for (long i = 0; i < threads; i++)
    pthread_create(&started[i], NULL, work, (void *)i);
  for (int i = 0; i < 7; i++)
    pthread_barrier_wait(&barrier);
  for (int i = 0; i < threads && is_to_end; i++)
    pthread_join(started[i], NULL);
  for (int t = 0; t < threads; t++)
    for (int i = 0; i < BLOCKS; i++)
      if (blocks[t][i])
        fprintf(list, "%p %zu\n", blocks[t][i], malloc_usable_size(blocks[t][i]));
  fclose(list);
  puts("ready");
  fflush(stdout);
  pause();
  return count;
}
