/* heap_rates.c - how many blocks a microsecond: heap_rates one | four
 *
 *   one   a thread allocates 37,000 blocks of 37 sizes, writes to all, and frees the first half in the order of allocation
 *         and the rest in the opposite one. Prints nanoseconds of its processor time: for the allocations, for these and the
 *         writes, and for the frees.
 *   four  each of 4 threads allocates 407,100 blocks of 16 to 2,048 bytes, writes and reads all of their bytes, and frees
 *         the blocks of another thread. Prints nanoseconds until all threads have ended.
 */
#include <stdatomic.h>

#include "heap_bench.h"

/* --- one --- */

enum { SIZES = 37, TIMES = 1000, BLOCKS = SIZES * TIMES };

/* The sizes of the published benchmark, in ascending order: which one comes after which is decided by STEP. */
static const unsigned short sizes[SIZES] = {7,  8,  12, 14,  16,  16,  16,  16,  20,   22,   23,  27, 29,
                                            32, 32, 32, 32,  35,  40,  41,  43,  50,   60,   64,  74, 77,
                                            80, 84, 96, 100, 106, 128, 256, 512, 1024, 1500, 2048};
enum { STEP = 11 };

static void one(void)
{
  static void *blocks[BLOCKS];
  memset(blocks, 1, sizeof blocks); /* touched before */
  long long start = clock_now_ns(CLOCK_THREAD_CPUTIME_ID);
  for (int i = 0; i < BLOCKS; i++)
    blocks[i] = malloc(sizes[i * STEP % SIZES]);
  long long allocated = clock_now_ns(CLOCK_THREAD_CPUTIME_ID);
  for (int i = 0; i < BLOCKS; i++)
    memset(blocks[i], i, sizes[i * STEP % SIZES]);
  long long written = clock_now_ns(CLOCK_THREAD_CPUTIME_ID);
  for (int i = 0; i < BLOCKS / 2; i++)
    free(blocks[i]);
  for (int i = BLOCKS - 1; i >= BLOCKS / 2; i--)
    free(blocks[i]);
  printf("%lld %lld %lld\n", allocated - start, written - start, clock_now_ns(CLOCK_THREAD_CPUTIME_ID) - written);
}

/* --- four --- */

enum { THREADS = 4, PARTS = 8, REPEATS = 50, OF_THREAD = 8142 * REPEATS };

static void **blocks_of[THREADS];
static _Atomic size_t counts[THREADS];

static void use(unsigned char *block, size_t bytes)
{
  for (size_t i = 0; i < bytes; i++)
    ((volatile unsigned char *)block)[i] = (unsigned char)i;
  for (size_t i = 0; i < bytes; i++)
    if (((volatile unsigned char *)block)[i] != (unsigned char)i)
      exit(5);
}

static void *allocate_and_free_others(void *argument)
{
  static const unsigned of_part[PARTS] = {4089, 2044, 1022, 511, 255, 127, 63, 31};
  size_t mine = (uintptr_t)argument, other = THREADS - 1 - mine, count = 0;
  for (size_t part = 0; part < PARTS; part++)
    for (size_t i = (size_t)of_part[part] * REPEATS; i; i--) {
      unsigned char *block = get((size_t)16 << part);
      use(block, (size_t)16 << part);
      blocks_of[mine][count] = block;
      atomic_store_explicit(&counts[mine], ++count, memory_order_release);
    }
  for (size_t i = 0; i < OF_THREAD; i++) {
    while (i == atomic_load_explicit(&counts[other], memory_order_acquire))
      sched_yield();
    free(blocks_of[other][i]);
  }
  return NULL;
}

static void four(void)
{
  for (int i = 0; i < THREADS; i++)
    memset(blocks_of[i] = map(OF_THREAD * sizeof(void *)), 1, OF_THREAD * sizeof(void *));
  long long start = clock_now_ns(CLOCK_MONOTONIC);
  in_threads(THREADS, allocate_and_free_others);
  printf("%lld\n", clock_now_ns(CLOCK_MONOTONIC) - start);
}

int main(int argc, char **argv)
{
  if (argc != 2 || (strcmp(argv[1], "one") && strcmp(argv[1], "four")))
    return 2;
  strcmp(argv[1], "one") ? four() : one();
  return 0;
}
