/* pool_calls.c - single calls of malloc and free, each between two requests to callgrind, to count the instructions of
 * each
 *
 * pool_calls SEQUENCE CALLS: if it runs under callgrind with --combine-dumps=yes, each call is a part of the output,
 * with the call's name. Sequences: `random`: sizes as in typical programs; `threads`: the same in a process with
 * another thread, so that locks are taken; `adversarial`: as `threads`, but blocks are freed between two free ones, and
 * bins become empty; `others`: as `threads`: aligned blocks, blocks that realloc makes larger or smaller in place, and
 * usable sizes; `alone`: the same in a process with one thread.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <valgrind/callgrind.h>

enum { BLOCKS = 2000, WARM_UP = 50000, A_WHILE_US = 100000 };

static void *blocks[BLOCKS];

void *new_aligned(size_t bytes, size_t align) __asm__("_ZnwmSt11align_val_t");

static unsigned any(void)
{
  static unsigned seed = 1;
  seed ^= seed << 13;
  seed ^= seed >> 17;
  return seed ^= seed << 5;
}

static __attribute__((noinline)) void *measured_malloc(size_t bytes)
{
  CALLGRIND_ZERO_STATS;
  void *volatile block = malloc(bytes);
  CALLGRIND_DUMP_STATS_AT("malloc");
  return block;
}

static __attribute__((noinline)) void measured_free(void *block)
{
  CALLGRIND_ZERO_STATS;
  free(block);
  CALLGRIND_DUMP_STATS_AT("free");
}

/* The cost of the requests themselves. */
static __attribute__((noinline)) void measured_nothing(void)
{
  CALLGRIND_ZERO_STATS;
  CALLGRIND_DUMP_STATS_AT("nothing");
}

static size_t any_size(void)
{
  unsigned kind = any() % 100;
  return kind < 80 ? 1 + any() % 256 : kind < 97 ? 1 + any() % 4096 : 1 + any() % 65536;
}

static void random_calls(unsigned calls)
{
  for (unsigned i = 0; i < WARM_UP; i++) {
    void **block = &blocks[any() % BLOCKS];
    free(*block);
    *block = any() % 2 ? malloc(any_size()) : NULL;
  }
  while (calls--) {
    void **block = &blocks[any() % BLOCKS];
    if (*block) {
      measured_free(*block);
      *block = NULL;
    } else {
      *block = measured_malloc(any_size());
    }
  }
}

/* Four adjoining blocks of sizes that no other free block has: the third is freed between two free ones, then both
 * sizes are requested again. */
static void adversarial_calls(unsigned calls)
{
  while (calls) {
    size_t bytes = 40 + 16 * (any() % 3000);
    void *fence = malloc(24), *front = malloc(bytes), *middle = malloc(bytes + 48), *behind = malloc(bytes + 1024);
    void *end = malloc(24);
    free(front);
    free(behind);
    measured_free(middle);
    front = measured_malloc(bytes);
    middle = measured_malloc(bytes + 24);
    behind = measured_malloc(3 * bytes);
    measured_free(front);
    measured_free(behind);
    measured_free(middle);
    free(end);
    free(fence);
    calls = calls > 7 ? calls - 7 : 0;
  }
}

/* Only a block that stays in place takes the same work at any size. */
static __attribute__((noinline)) void *measured_realloc(void *old, size_t bytes)
{
  CALLGRIND_ZERO_STATS;
  void *volatile block = realloc(old, bytes);
  CALLGRIND_DUMP_STATS_AT(block == old ? "realloc in place" : "moved");
  return block;
}

static __attribute__((noinline)) void *measured_memalign(size_t align, size_t bytes, const char *called)
{
  CALLGRIND_ZERO_STATS;
  void *volatile block = memalign(align, bytes);
  CALLGRIND_DUMP_STATS_AT(called);
  return block;
}

static __attribute__((noinline)) void *measured_posix_memalign(size_t align, size_t bytes, const char *called)
{
  void *block = NULL;
  CALLGRIND_ZERO_STATS;
  volatile int error = posix_memalign(&block, align, bytes);
  CALLGRIND_DUMP_STATS_AT(called);
  (void)error;
  return block;
}

static __attribute__((noinline)) void *measured_new(size_t align, size_t bytes, const char *called)
{
  CALLGRIND_ZERO_STATS;
  void *volatile block = new_aligned(bytes, align);
  CALLGRIND_DUMP_STATS_AT(called);
  return block;
}

/* In a small hole, the rest that stays free has another size than before. */
static const struct aligned_way {
  void *(*measured)(size_t align, size_t bytes, const char *called);
  const char *called, *called_in_a_hole;
} aligned_ways[] = {{measured_memalign, "memalign", "memalign in a hole"},
                    {measured_posix_memalign, "posix_memalign", "posix_memalign in a hole"},
                    {measured_new, "operator new(align)", "operator new(align) in a hole"}};

enum { ALIGNED_WAYS = sizeof aligned_ways / sizeof *aligned_ways };

static __attribute__((noinline)) void measured_usable_size(void *block)
{
  CALLGRIND_ZERO_STATS;
  volatile size_t bytes = malloc_usable_size(block);
  CALLGRIND_DUMP_STATS_AT("usable size");
  (void)bytes;
}

static void other_calls(unsigned calls)
{
  enum { SMALLEST_ALIGN = 32, ALIGNS = 8, CALLS_EACH = 5 };
  for (; calls >= CALLS_EACH; calls -= CALLS_EACH) {
    const struct aligned_way *way = &aligned_ways[any() % ALIGNED_WAYS];
    size_t bytes = 40 + 16 * (any() % 3000), align = (size_t)SMALLEST_ALIGN << any() % ALIGNS;
    void *fence = malloc(24), *block = way->measured(align, bytes, way->called);
    void *behind = malloc(bytes), *end = malloc(24);
    free(behind);
    measured_usable_size(block);
    block = measured_realloc(block, bytes + bytes / 2);
    block = measured_realloc(block, bytes / 2);
    free(end);
    free(block);
    void *hole = malloc(bytes + align + any() % (2 * bytes));
    end = malloc(24);
    free(hole);
    free(way->measured(align, bytes, way->called_in_a_hole));
    free(end);
    free(fence);
  }
}

static void *wait_for_end(void *unused)
{
  pause();
  return unused;
}

static void start_thread(void)
{
  pthread_t thread;
  if (pthread_create(&thread, NULL, wait_for_end, NULL) != 0)
    exit(1);
  usleep(A_WHILE_US); /* until the thread waits: callgrind counts the instructions of all threads */
}

int main(int argc, char **argv)
{
  unsigned calls = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
  const char *sequence = argc > 1 ? argv[1] : "";
  measured_nothing();
  if (strcmp(sequence, "random") != 0 && strcmp(sequence, "alone") != 0)
    start_thread();
  if (!strcmp(sequence, "random") || !strcmp(sequence, "threads"))
    random_calls(calls);
  else if (!strcmp(sequence, "adversarial"))
    adversarial_calls(calls);
  else if (!strcmp(sequence, "others") || !strcmp(sequence, "alone"))
    other_calls(calls);
  else
    return 2;
  return 0;
}
