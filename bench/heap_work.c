/* heap_work.c - workloads for allocators, written after the published descriptions of well-known ones
 *
 * heap_work WORKLOAD PERCENT prints nanoseconds of processor time, then in kB: peak RSS, address space and RSS after all threads ended.
 * PERCENT scales the number of operations. Workloads:
 *   server     threads replace random blocks in an array of theirs, and then leave it to a new thread
 *   pass       in pairs of threads, each on a processor of its own if there are two or more, one allocates blocks, and the other frees them
 *   exchange   threads take random blocks from slots that all share, and put others there
 *   lifetimes  blocks of many sizes, from 8 bytes to 64 KiB, small ones most often, that live long or short
 *   small      blocks up to 128 bytes, freed in the order of allocation, in the opposite one, or in any
 *   large      blocks from 64 KiB to 4 MiB, of which the first and the last page are used
 *   grow       buffers grow by realloc to 1 MiB, several at once
 *   scratch    each thread frees a small block of the main thread, then writes often to small blocks of its own
 *   thrash     the same without that block
 *   up-down    64 MB of small blocks are allocated and all freed, again and again
 *   many       16 threads allocate 3.3 million blocks of 16 to 2,048 bytes, and free those of another thread
 */
#include <sched.h>
#include <stdatomic.h>

#include "heap_bench.h"

enum { THREADS = 4 };

static unsigned percent;

static size_t scaled(size_t count)
{
  return count * percent / 100 + 1;
}

/* --- server --- */

enum { SERVER_BLOCKS = 5000, SERVER_ROUNDS = 20 };

static void *serve(void *argument)
{
  void **blocks = argument;
  uint32_t seed = 1 + (uint32_t)(uintptr_t)argument;
  for (size_t i = scaled(100000); i; i--) {
    size_t which = any(&seed) % SERVER_BLOCKS;
    free(blocks[which]);
    blocks[which] = get(8 + any(&seed) % 993);
  }
  return NULL;
}

static void *serve_in_turn(void *argument)
{
  (void)argument;
  void **blocks = map(SERVER_BLOCKS * sizeof *blocks);
  for (int i = 0; i < SERVER_ROUNDS; i++) {
    pthread_t thread;
    pthread_create(&thread, NULL, serve, blocks);
    pthread_join(thread, NULL);
  }
  for (int i = 0; i < SERVER_BLOCKS; i++)
    free(blocks[i]);
  return NULL;
}

static void server(void)
{
  in_threads(THREADS, serve_in_turn);
}

/* --- pass --- */

enum { BATCH = 128, BATCHES = 64 };

struct ring {
  void *blocks[BATCHES][BATCH];
  _Alignas(64) atomic_size_t written;
  _Alignas(64) atomic_size_t read;
};

static struct ring rings[THREADS / 2];

/* Of those that it may use, the processor with this number, counted from 0 and again from 0 after the last one. */
static void use_processor(int number)
{
  cpu_set_t all, one;
  CPU_ZERO(&one);
  if (sched_getaffinity(0, sizeof all, &all))
    return;
  number %= CPU_COUNT(&all);
  for (int i = 0; i < CPU_SETSIZE; i++)
    if (CPU_ISSET(i, &all) && number-- == 0)
      CPU_SET(i, &one);
  sched_setaffinity(0, sizeof one, &one);
}

/* If the scheduler has the choice, both threads of a pair are on one processor in some runs, and meet on two in others, which takes up to nine
 * times as long. */
static void *produce_or_consume(void *argument)
{
  struct ring *ring = &rings[(uintptr_t)argument / 2];
  uint32_t seed = 77;
  use_processor((int)(uintptr_t)argument);
  for (size_t i = 0, batches = scaled(40000); i < batches; i++) {
    if ((uintptr_t)argument % 2) {
      while (i == atomic_load(&ring->written))
        sched_yield();
      for (int k = 0; k < BATCH; k++)
        free(ring->blocks[i % BATCHES][k]);
      atomic_store(&ring->read, i + 1);
    } else {
      while (i == atomic_load(&ring->read) + BATCHES)
        sched_yield();
      for (int k = 0; k < BATCH; k++)
        ring->blocks[i % BATCHES][k] = get(16 + any(&seed) % 497);
      atomic_store(&ring->written, i + 1);
    }
  }
  return NULL;
}

static void pass(void)
{
  in_threads(THREADS, produce_or_consume);
}

/* --- exchange --- */

enum { SLOTS = 4096 };

static _Atomic(void *) slots[SLOTS];

static void *exchange_blocks(void *argument)
{
  uint32_t seed = 1 + (uint32_t)(uintptr_t)argument;
  for (size_t i = scaled(6000000); i; i--)
    free(atomic_exchange(&slots[any(&seed) % SLOTS], get(8 + any(&seed) % (8u << any(&seed) % 8))));
  return NULL;
}

static void exchange(void)
{
  in_threads(THREADS, exchange_blocks);
  for (int i = 0; i < SLOTS; i++)
    free(slots[i]);
}

/* --- lifetimes --- */

enum { LONG_LIVED = 20000, SHORT_LIVED = 200 };

static void *live_and_die(void *argument)
{
  void **blocks = map((LONG_LIVED + SHORT_LIVED) * sizeof *blocks);
  uint32_t seed = 9 + (uint32_t)(uintptr_t)argument;
  for (size_t i = scaled(1500000); i; i--) {
    size_t which = any(&seed) % 8 ? any(&seed) % SHORT_LIVED : SHORT_LIVED + any(&seed) % LONG_LIVED;
    unsigned bits = any(&seed) % 128;
    free(blocks[which]);
    blocks[which] = get(8 + any(&seed) % (8u << (bits < 120 ? bits % 8 : bits % 14)));
  }
  for (int i = 0; i < LONG_LIVED + SHORT_LIVED; i++)
    free(blocks[i]);
  return NULL;
}

static void lifetimes(void)
{
  in_threads(THREADS, live_and_die);
}

/* --- small --- */

static void small(void)
{
  enum { BLOCKS = 100000 };
  void **blocks = map(BLOCKS * sizeof *blocks);
  uint32_t seed = 5;
  for (size_t round = scaled(60); round; round--) {
    for (int i = 0; i < BLOCKS; i++)
      blocks[i] = get(1 + any(&seed) % 128);
    for (int i = 0; i < BLOCKS; i++) {
      int which = round % 3 == 0 ? i : round % 3 == 1 ? BLOCKS - 1 - i : (int)(any(&seed) % BLOCKS);
      free(blocks[which]);
      blocks[which] = NULL;
    }
    for (int i = 0; i < BLOCKS; i++)
      free(blocks[i]);
  }
}

/* --- large --- */

static void large(void)
{
  enum { BLOCKS = 40 };
  void *blocks[BLOCKS] = {NULL};
  uint32_t seed = 3;
  for (size_t i = scaled(60000); i; i--) {
    size_t which = any(&seed) % BLOCKS;
    free(blocks[which]);
    blocks[which] = get(64 * KIB + any(&seed) % (64 * KIB << any(&seed) % 7));
  }
  for (int i = 0; i < BLOCKS; i++)
    free(blocks[i]);
}

/* --- grow --- */

static void grow(void)
{
  enum { BUFFERS = 16 };
  for (size_t round = scaled(60); round; round--) {
    char *buffers[BUFFERS] = {NULL};
    for (size_t bytes = 16; bytes <= MIB; bytes += bytes / 4)
      for (int i = 0; i < BUFFERS; i++) {
        buffers[i] = realloc(buffers[i], bytes);
        memset(buffers[i] + bytes - bytes / 5, i, bytes / 5);
      }
    for (int i = 0; i < BUFFERS; i++)
      free(buffers[i]);
  }
}

/* --- scratch, thrash --- */

enum { WRITES = 100 };

static void *write_often(void *block)
{
  free(block);
  for (size_t i = scaled(200000); i; i--) {
    volatile char *own = get(8);
    for (int k = 0; k < WRITES; k++)
      own[k % 8]++;
    free((void *)own);
  }
  return NULL;
}

static void write_in_threads(int has_block)
{
  pthread_t threads[THREADS];
  void *blocks[THREADS];
  for (int i = 0; i < THREADS; i++)
    blocks[i] = has_block ? get(8) : NULL;
  for (int i = 0; i < THREADS; i++)
    pthread_create(&threads[i], NULL, write_often, blocks[i]);
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
}

static void scratch(void)
{
  write_in_threads(1);
}

static void thrash(void)
{
  write_in_threads(0);
}

/* --- up-down --- */

static void up_down(void)
{
  enum { BLOCKS = 500000 };
  void **blocks = map(BLOCKS * sizeof *blocks);
  uint32_t seed = 11;
  for (size_t round = scaled(12); round; round--) {
    for (int i = 0; i < BLOCKS; i++)
      blocks[i] = get(16 + any(&seed) % 240);
    for (int i = 0; i < BLOCKS; i++)
      free(blocks[i]);
  }
}

/* --- many --- */

enum { MANY_THREADS = 16, MANY_TIMES = 25, MANY_BLOCKS = 8142 };

static void **many_blocks;
static pthread_barrier_t all_have;

static void *have_many(void *argument)
{
  static const unsigned counts[] = {4089, 2044, 1022, 511, 255, 127, 63, 31};
  size_t mine = (uintptr_t)argument, others = (mine + 1) % MANY_THREADS, n = 0;
  for (int time = 0; time < MANY_TIMES; time++)
    for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++)
      for (unsigned k = 0; k < counts[i]; k++, n++)
        memset(many_blocks[mine * MANY_TIMES * MANY_BLOCKS + n] = get((size_t)16 << i), 1, (size_t)16 << i);
  pthread_barrier_wait(&all_have);
  for (size_t i = 0; i < n; i++)
    free(many_blocks[others * MANY_TIMES * MANY_BLOCKS + i]);
  return NULL;
}

static void many(void)
{
  size_t bytes = sizeof *many_blocks * MANY_THREADS * MANY_TIMES * MANY_BLOCKS;
  many_blocks = map(bytes);
  pthread_barrier_init(&all_have, NULL, MANY_THREADS);
  in_threads(MANY_THREADS, have_many);
  munmap(many_blocks, bytes);
}

/* --- */

int main(int argc, char **argv)
{
  static const struct {
    const char *name;
    void (*run)(void);
  } all[] = {{"server", server}, {"pass", pass},       {"exchange", exchange}, {"lifetimes", lifetimes},
             {"small", small},   {"large", large},     {"grow", grow},         {"scratch", scratch},
             {"thrash", thrash}, {"up-down", up_down}, {"many", many}};
  percent = argc > 2 ? (unsigned)atoi(argv[2]) : 100;
  for (size_t i = 0; argc > 1 && i < sizeof all / sizeof *all; i++)
    if (!strcmp(argv[1], all[i].name)) {
      all[i].run();
      long long used_ns = clock_now_ns(CLOCK_PROCESS_CPUTIME_ID);
      unsigned long space = status_kb("VmSize:"), now = status_kb("VmRSS:");
      printf("%lld %lu %lu %lu\n", used_ns, status_kb("VmHWM:"), space, now);
      return 0;
    }
  return 2;
}
