/* pool_mix.c - malloc and free with the sizes and lifetimes of a recorded program: memory, latency, throughput
 *
 * pool_mix MIX OPERATIONS memory|latency|nothing|threads [N [DRAW]]
 *
 * MIX contains pairs of 32-bit numbers: the size of a block, and for how many allocations it lives. Each allocation
 * uses a random pair, and the block is written to. An operation is one malloc or one free. DRAW is the seed of the
 * random choice. Prints one line of numbers:
 *   memory    largest sum of live bytes, as requested; the same as rounded: malloc_usable_size, plus N for each block's
 *             header; both again, for the blocks that are live at the end; bytes from the start of the lowest block to
 *             the end of the highest one; the largest increase of the process's anonymous memory, sampled 200 times
 *   latency   nanoseconds of single calls: median, 99.9 %, 99.99 %, maximum; 1 if the thread had real-time priority,
 *             otherwise 0
 *   nothing   the same for calls of a function that does nothing instead of malloc and free: the time that the machine
 *             adds
 *   threads   operations per second of all N threads together, each with its own blocks
 */
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

enum {
  WHEEL = 1 << 23,
  HISTOGRAM = 1 << 20,
  PRIORITY = 50,
  WARM_UP_SHARE = 10,
  PAUSES = 200,
  PAUSE_NS = 5000000,
  THREADS_MAX = 64
};

struct kind {
  uint32_t size, lifetime;
};

struct node {
  void *block;
  uint32_t next, size;
};

/* The blocks of one thread. Those that are freed at allocation n are in the list wheel[n % WHEEL]. */
struct state {
  const struct kind *kinds;
  uint64_t kind_count, operations;
  struct node *nodes; /* indexes begin at 1 */
  uint32_t *wheel, unused, node_count;
  uint64_t seed, now;
  uint32_t *histogram; /* of cycles; NULL: not needed */
  bool times_nothing;
  uint64_t header, asked, rounded, most_asked, most_rounded;
  uintptr_t lowest, highest;
};

/* Memory that is not from the measured malloc. */
static void *map(size_t bytes)
{
  void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED)
    _exit(3);
  return at;
}

static uint64_t any(struct state *s)
{
  s->seed ^= s->seed << 13;
  s->seed ^= s->seed >> 7;
  return s->seed ^= s->seed << 17;
}

static uint64_t begin_call(void)
{
  _mm_lfence();
  return __rdtsc();
}

static void end_call(struct state *s, uint64_t began)
{
  unsigned cpu;
  uint64_t cycles = __rdtscp(&cpu) - began;
  _mm_lfence();
  s->histogram[cycles < HISTOGRAM ? cycles : HISTOGRAM - 1]++;
}

static __attribute__((noinline)) void do_nothing(void)
{
  __asm__ volatile("" : : : "memory");
}

static void time_nothing(struct state *s)
{
  uint64_t began = begin_call();
  do_nothing();
  end_call(s, began);
}

static void timed_free(struct state *s, void *block)
{
  uint64_t began = begin_call();
  free(block);
  end_call(s, began);
}

static void *timed_malloc(struct state *s, size_t bytes)
{
  uint64_t began = begin_call();
  void *block = malloc(bytes);
  end_call(s, began);
  return block;
}

static void free_block(struct state *s, void *block)
{
  if (s->histogram && !s->times_nothing) {
    timed_free(s, block);
    return;
  }
  if (s->histogram)
    time_nothing(s);
  free(block);
}

static void *alloc_block(struct state *s, size_t bytes)
{
  if (s->histogram && !s->times_nothing)
    return timed_malloc(s, bytes);
  if (s->histogram)
    time_nothing(s);
  return malloc(bytes);
}

static void free_one(struct state *s, uint32_t number)
{
  struct node *node = &s->nodes[number];
  s->asked -= node->size;
  s->rounded -= malloc_usable_size(node->block) + s->header;
  free_block(s, node->block);
  node->next = s->unused;
  s->unused = number;
}

static void note(struct state *s, const struct node *node)
{
  uintptr_t start = (uintptr_t)node->block;
  size_t usable = malloc_usable_size(node->block);
  s->asked += node->size;
  s->rounded += usable + s->header;
  s->most_asked = s->asked > s->most_asked ? s->asked : s->most_asked;
  s->most_rounded = s->rounded > s->most_rounded ? s->rounded : s->most_rounded;
  s->lowest = start < s->lowest ? start : s->lowest;
  s->highest = start + usable > s->highest ? start + usable : s->highest;
}

static void alloc_one(struct state *s)
{
  const struct kind *kind = &s->kinds[any(s) % s->kind_count];
  uint32_t number = s->unused ? s->unused : ++s->node_count;
  struct node *node = &s->nodes[number];
  if (s->unused)
    s->unused = node->next;
  node->size = kind->size;
  node->block = alloc_block(s, kind->size);
  if (!node->block)
    _exit(4);
  memset(node->block, 1, kind->size);
  note(s, node);
  uint32_t *end = &s->wheel[(s->now + 1 + kind->lifetime) % WHEEL];
  node->next = *end;
  *end = number;
}

/* Does one allocation, after all frees that are due. Returns the number of operations. */
static uint64_t step(struct state *s)
{
  uint64_t done = 1;
  uint32_t *due = &s->wheel[s->now++ % WHEEL];
  for (uint32_t number = *due, next; number; number = next, done++) {
    next = s->nodes[number].next;
    free_one(s, number);
  }
  *due = 0;
  alloc_one(s);
  return done;
}

static void run(struct state *s, uint64_t operations)
{
  for (uint64_t done = 0; done < operations;)
    done += step(s);
}

static void init(struct state *s, const struct kind *kinds, uint64_t kind_count, uint64_t operations)
{
  memset(s, 0, sizeof *s);
  s->kinds = kinds;
  s->kind_count = kind_count;
  s->operations = operations;
  s->nodes = map((operations + 2) * sizeof *s->nodes);
  s->wheel = map(WHEEL * sizeof *s->wheel);
  s->seed = 88172645463325252u;
  s->lowest = UINTPTR_MAX;
}

/* --- memory --- */

/* Without stdio, which would allocate. */
static uint64_t anonymous_bytes(void)
{
  char text[4096] = "";
  int file = open("/proc/self/smaps_rollup", O_RDONLY);
  ssize_t bytes = file >= 0 ? read(file, text, sizeof text - 1) : -1;
  close(file);
  const char *line = bytes > 0 ? strstr(text, "\nAnonymous:") : NULL;
  if (!line)
    _exit(6);
  return strtoull(line + sizeof "\nAnonymous:" - 1, NULL, 10) * 1024;
}

static void measure_memory(struct state *s, uint64_t header)
{
  enum { SAMPLES = 200 };
  s->header = header;
  memset(s->nodes, 0, (s->operations + 2) * sizeof *s->nodes); /* made present before the measurement */
  memset(s->wheel, 0, WHEEL * sizeof *s->wheel);
  uint64_t before = anonymous_bytes(), most = before;
  for (int i = 0; i < SAMPLES; i++) {
    run(s, s->operations / SAMPLES);
    uint64_t now = anonymous_bytes();
    most = now > most ? now : most;
  }
  printf("%lu %lu %lu %lu %lu %lu\n", s->most_asked, s->most_rounded, s->asked, s->rounded,
         (uint64_t)(s->highest - s->lowest), most - before);
}

/* --- latency --- */

static double ns_per_cycle(void)
{
  struct timespec from, to;
  clock_gettime(CLOCK_MONOTONIC, &from);
  uint64_t began = __rdtsc();
  do
    clock_gettime(CLOCK_MONOTONIC, &to);
  while ((to.tv_sec - from.tv_sec) * 1000000000 + to.tv_nsec - from.tv_nsec < 100000000);
  return (double)((to.tv_sec - from.tv_sec) * 1000000000 + to.tv_nsec - from.tv_nsec) / (double)(__rdtsc() - began);
}

static uint64_t quantile(const uint32_t *histogram, uint64_t count, double share)
{
  uint64_t rank = (uint64_t)((double)count * share), sum = 0;
  for (uint64_t cycles = 0; cycles < HISTOGRAM; cycles++)
    if ((sum += histogram[cycles]) > rank)
      return cycles;
  return HISTOGRAM - 1;
}

static bool be_urgent(void)
{
  struct sched_param wanted = {.sched_priority = PRIORITY};
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  sched_setaffinity(0, sizeof one, &one);
  mlockall(MCL_CURRENT);
  return sched_setscheduler(0, SCHED_FIFO, &wanted) == 0;
}

static void measure_latency(struct state *s, bool times_nothing)
{
  s->times_nothing = times_nothing;
  double ns = ns_per_cycle();
  bool is_urgent = be_urgent();
  run(s, s->operations / WARM_UP_SHARE);
  s->histogram = map(HISTOGRAM * sizeof *s->histogram);
  memset(s->histogram, 0, HISTOGRAM * sizeof *s->histogram);
  uint64_t left = s->operations - s->operations / WARM_UP_SHARE, part = s->operations / PAUSES + 1;
  for (; left > 0; left -= part < left ? part : left) {
    run(s, part < left ? part : left);
    nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL); /* the kernel stops real-time threads that never wait */
  }
  uint64_t count = 0, most = 0;
  for (uint64_t cycles = 0; cycles < HISTOGRAM; cycles++) {
    count += s->histogram[cycles];
    most = s->histogram[cycles] ? cycles : most;
  }
  printf("%.0f %.0f %.0f %.0f %d\n", ns * (double)quantile(s->histogram, count, 0.5),
         ns * (double)quantile(s->histogram, count, 0.999), ns * (double)quantile(s->histogram, count, 0.9999),
         ns * (double)most, is_urgent);
}

/* --- throughput --- */

static void *run_thread(void *state)
{
  struct state *s = state;
  run(s, s->operations);
  return NULL;
}

static void measure_threads(const struct state *like, unsigned count)
{
  static struct state states[THREADS_MAX];
  pthread_t threads[THREADS_MAX];
  struct timespec from, to;
  for (unsigned i = 0; i < count; i++) {
    init(&states[i], like->kinds, like->kind_count, like->operations / count);
    states[i].seed += i;
  }
  clock_gettime(CLOCK_MONOTONIC, &from);
  for (unsigned i = 0; i < count; i++)
    if (pthread_create(&threads[i], NULL, run_thread, &states[i]) != 0)
      _exit(5);
  for (unsigned i = 0; i < count; i++)
    pthread_join(threads[i], NULL);
  clock_gettime(CLOCK_MONOTONIC, &to);
  double seconds = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
  printf("%.0f\n", (double)like->operations / seconds);
}

int main(int argc, char **argv)
{
  struct stat status;
  int file = argc > 3 ? open(argv[1], O_RDONLY) : -1;
  if (file < 0 || fstat(file, &status) != 0 || status.st_size < (off_t)sizeof(struct kind))
    return 2;
  const struct kind *kinds = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
  struct state s;
  if (kinds == MAP_FAILED)
    return 2;
  init(&s, kinds, (uint64_t)status.st_size / sizeof *kinds, strtoull(argv[2], NULL, 10));
  unsigned number = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 0;
  s.seed += argc > 5 ? strtoull(argv[5], NULL, 10) * 0x9e3779b97f4a7c15u : 0;
  if (!strcmp(argv[3], "memory"))
    measure_memory(&s, number);
  else if (!strcmp(argv[3], "latency"))
    measure_latency(&s, false);
  else if (!strcmp(argv[3], "nothing"))
    measure_latency(&s, true);
  else if (!strcmp(argv[3], "threads") && number > 0 && number <= THREADS_MAX)
    measure_threads(&s, number);
  else
    return 2;
  return 0;
}
