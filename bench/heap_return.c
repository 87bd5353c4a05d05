/* heap_return.c - memory that is returned to the system, and taken again: heap_return down MB | idle THREADS | cycles MB CYCLES
 *
 *   down    allocates MB of blocks of 16 bytes to 1 MiB, each power of two with the same share, uses them, and frees all in
 *           random order. Prints in kB the RSS before, with all blocks, after the last free, a second later, and after
 *           another second in which the program allocates and frees a little.
 *   idle    THREADS, up to 64, replace blocks of 16 bytes to 64 KiB for a moment and free all; then each allocates and frees a few small ones
 *           now and then. Prints in kB the RSS before, then, and after a second of that.
 *   cycles  allocates MB of blocks of 16 to 255 bytes and frees them, CYCLES times. Prints nanoseconds of processor time
 *           and page faults of all cycles but the first.
 */
#include "heap_bench.h"

static size_t given_bytes;

static void print_rss(void)
{
  printf("%lu ", status_kb("VmRSS:"));
}

/* --- down --- */

enum { LEAST_BITS = 4, MOST_BITS = 20, POWERS = MOST_BITS - LEAST_BITS };

/* Fills `blocks`. Returns their count. */
static size_t allocate_mixed(void **blocks)
{
  uint32_t seed = 7;
  size_t count = 0;
  for (unsigned bits = LEAST_BITS; bits < MOST_BITS; bits++)
    for (size_t bytes = 0, more; bytes < given_bytes / POWERS; bytes += more) {
      more = ((size_t)1 << bits) + any(&seed) % ((uint32_t)1 << bits);
      blocks[count++] = memset(get(more), 1, more);
    }
  return count;
}

/* Of all that a heap has, little is used: for example, a timer of a server. */
static void do_little_for_a_second(void **blocks, int count, uint32_t seed)
{
  enum { ROUNDS = 100 };
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < count; i++)
      blocks[i] = get(16 + any(&seed) % 200);
    for (int i = 0; i < count; i++)
      free(blocks[i]);
    nanosleep(&(struct timespec){.tv_nsec = NS_PER_S / ROUNDS}, NULL);
  }
}

static void down(void)
{
  enum { FEW = 2000 };
  static void *few[FEW];
  size_t list_bytes = given_bytes / 2; /* more than there are pointers */
  void **blocks = map(list_bytes);
  free(get(1));
  print_rss();
  size_t count = allocate_mixed(blocks);
  shuffle(blocks, count);
  unsigned long list_kb = count * sizeof *blocks / KIB;
  printf("%lu ", status_kb("VmRSS:") - list_kb);
  for (size_t i = 0; i < count; i++)
    free(blocks[i]);
  munmap(blocks, list_bytes);
  print_rss();
  sleep(1);
  print_rss();
  do_little_for_a_second(few, FEW, 3);
  print_rss();
}

/* --- idle --- */

static pthread_barrier_t step;

static void *work_and_idle(void *argument)
{
  enum { BLOCKS = 200, REPLACED = 20000, FEW = 100 };
  void *blocks[BLOCKS] = {NULL};
  uint32_t seed = 1 + (uint32_t)(uintptr_t)argument;
  for (int i = 0; i < REPLACED; i++) {
    uint32_t which = any(&seed) % BLOCKS, least = 16u << any(&seed) % 12;
    free(blocks[which]);
    blocks[which] = get(least + any(&seed) % least);
  }
  for (int i = 0; i < BLOCKS; i++)
    free(blocks[i]);
  pthread_barrier_wait(&step);
  pthread_barrier_wait(&step);
  do_little_for_a_second(blocks, FEW, seed);
  pthread_barrier_wait(&step);
  pthread_barrier_wait(&step);
  return NULL;
}

static void *look(void *argument)
{
  (void)argument;
  pthread_barrier_wait(&step);
  print_rss();
  pthread_barrier_wait(&step);
  pthread_barrier_wait(&step);
  print_rss();
  pthread_barrier_wait(&step);
  return NULL;
}

static void *body_of(void *argument)
{
  return argument ? work_and_idle(argument) : look(argument);
}

static void idle(int count)
{
  pthread_barrier_init(&step, NULL, (unsigned)count + 1);
  free(get(1));
  print_rss();
  in_threads(count + 1, body_of);
}

/* --- cycles --- */

static void go_up_and_down(void **blocks)
{
  uint32_t seed = 11;
  size_t count = 0;
  for (size_t bytes = 0, more; bytes < given_bytes; bytes += more)
    blocks[count++] = get(more = 16 + any(&seed) % 240);
  for (size_t i = 0; i < count; i++)
    free(blocks[i]);
}

static void cycles(unsigned count)
{
  void **blocks = map(given_bytes);
  go_up_and_down(blocks);
  long long start = clock_now_ns(CLOCK_PROCESS_CPUTIME_ID);
  long faults = page_faults();
  for (unsigned i = 1; i < count; i++)
    go_up_and_down(blocks);
  printf("%lld %ld", clock_now_ns(CLOCK_PROCESS_CPUTIME_ID) - start, page_faults() - faults);
}

int main(int argc, char **argv)
{
  static char out[BUFSIZ];
  setvbuf(stdout, out, _IOFBF, sizeof out); /* otherwise printf allocates */
  if (argc < 3)
    return 2;
  given_bytes = strtoul(argv[2], NULL, 10) * 1000000;
  if (!strcmp(argv[1], "down") && argc == 3)
    down();
  else if (!strcmp(argv[1], "idle") && argc == 3)
    idle(atoi(argv[2]));
  else if (!strcmp(argv[1], "cycles") && argc == 4)
    cycles((unsigned)atoi(argv[3]));
  else
    return 2;
  printf("\n");
  return 0;
}
