/* heap_scale.c - the cost of many blocks, and of many threads: heap_scale grow MB | visit MB | threads COUNT
 *
 *   grow     allocates MB of blocks of 4 KiB to 1 MiB, frees every other one and allocates as much again. They are not
 *            written, so that the search for room is measured, not the system. Prints nanoseconds of processor time of a block.
 *   visit    links MB of blocks of 100 to 119 bytes in random order, and follows the links. Prints nanoseconds of processor time
 *            of a link.
 *   threads  begins COUNT threads, all of which exist at once, allocate and free a block, and end. Prints nanoseconds of
 *            processor time of malloc and free in a thread that begins, and of the end of a thread.
 */
#include "heap_bench.h"

enum { LEAST_BYTES = 4 * KIB, STACK_BYTES = 64 * KIB };

static size_t given;

static size_t any_bytes(uint32_t *seed)
{
  return any(seed) % 8 ? LEAST_BYTES + any(seed) % (64 * KIB) : LEAST_BYTES + any(seed) % MIB;
}

static size_t fill(void **blocks, uint32_t seed, size_t step)
{
  size_t count = 0, bytes = 0;
  for (size_t more; bytes < given * MIB / step; bytes += more, count++) {
    more = any_bytes(&seed);
    blocks[count * step] = malloc(more);
    if (!blocks[count * step])
      exit(4);
  }
  return count;
}

static void grow(void)
{
  void **blocks = map(given * MIB / LEAST_BYTES * sizeof *blocks * 2);
  long long start = clock_now_ns(CLOCK_PROCESS_CPUTIME_ID);
  size_t count = fill(blocks, 7, 1);
  for (size_t i = 0; i < count; i += 2)
    free(blocks[i]);
  count += fill(blocks, 11, 2);
  printf("%lld\n", (clock_now_ns(CLOCK_PROCESS_CPUTIME_ID) - start) / (long long)count);
}

/* --- visit --- */

static void visit(void)
{
  enum { VISIT_BYTES = 128, VISITS = 5000000 };
  size_t count = given * MIB / VISIT_BYTES;
  void **blocks = map(count * sizeof *blocks);
  for (size_t i = 0; i < count; i++)
    blocks[i] = get(100 + i % 20);
  shuffle(blocks, count);
  for (size_t i = 0; i < count; i++)
    *(void **)blocks[i] = blocks[(i + 1) % count];
  long long start = clock_now_ns(CLOCK_PROCESS_CPUTIME_ID);
  void *volatile *at = blocks[0];
  for (size_t i = 0; i < VISITS; i++)
    at = *at;
  printf("%lld\n", (clock_now_ns(CLOCK_PROCESS_CPUTIME_ID) - start) / VISITS);
}

/* --- threads --- */

static pthread_barrier_t all_have_begun, may_end;
static long long *took_ns;

static void *use_briefly(void *index)
{
  long long start = clock_now_ns(CLOCK_THREAD_CPUTIME_ID);
  free(get(100));
  took_ns[(size_t)index] = clock_now_ns(CLOCK_THREAD_CPUTIME_ID) - start;
  pthread_barrier_wait(&all_have_begun);
  pthread_barrier_wait(&may_end);
  return index;
}

static void threads(void)
{
  pthread_t *all = map(given * sizeof *all);
  pthread_attr_t attributes;
  took_ns = map(given * sizeof *took_ns);
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, STACK_BYTES);
  pthread_barrier_init(&all_have_begun, NULL, (unsigned)given + 1);
  pthread_barrier_init(&may_end, NULL, (unsigned)given + 1);
  for (size_t i = 0; i < given; i++)
    if (pthread_create(&all[i], &attributes, use_briefly, (void *)i))
      exit(5);
  pthread_barrier_wait(&all_have_begun);
  long long start = clock_now_ns(CLOCK_PROCESS_CPUTIME_ID), begin_ns = 0;
  pthread_barrier_wait(&may_end);
  for (size_t i = 0; i < given; i++) {
    pthread_join(all[i], NULL);
    begin_ns += took_ns[i];
  }
  printf("%lld %lld\n", begin_ns / (long long)given,
         (clock_now_ns(CLOCK_PROCESS_CPUTIME_ID) - start) / (long long)given);
}

int main(int argc, char **argv)
{
  static char out[BUFSIZ];
  setvbuf(stdout, out, _IOFBF, sizeof out); /* otherwise printf allocates */
  if (argc != 3)
    return 2;
  given = strtoul(argv[2], NULL, 10);
  if (!strcmp(argv[1], "grow"))
    grow();
  else if (!strcmp(argv[1], "visit"))
    visit();
  else if (!strcmp(argv[1], "threads"))
    threads();
  else
    return 2;
  return 0;
}
