/* latency.c - how long single calls of malloc and free take: median, tail and worst
 *
 * usage: latency CALLS    prints one JSON object
 *
 * Runs as a control loop does: at SCHED_FIFO if that is permitted ("fifo" says so), with its memory locked. It sleeps
 * for a quarter of the time that it works, so that the kernel's limit for real-time threads (95 % by default) never
 * stops it. Each call is timed separately by clock_gettime, whose cost is part of every figure: compare the figures
 * with those of a run without a recorder.
 */
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { CALLS_MAX = 100000000, BATCH_CALLS = 1000, SLEEP_PART = 4, LIVE_BLOCKS = 1024, SIZE_MIN = 16, SIZE_MASK = 1023 };
enum { PRIORITY = 50, DEPTH = 10 };

static void *live[LIVE_BLOCKS];
static uint32_t *took_ns; /* one for each call */
static long taken;
static uint32_t seed = 1;

static uint64_t now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint32_t next_random(void)
{
  seed = seed * 1664525 + 1013904223;
  return seed >> 8;
}

static void note(uint64_t start_ns)
{
  uint64_t ns = now_ns() - start_ns;
  took_ns[taken++] = ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns;
}

/* Frees a block of some age and allocates a new one instead: two calls. */
static void replace_one(void)
{
  uint32_t at = next_random() % LIVE_BLOCKS;
  size_t size = SIZE_MIN + (next_random() & SIZE_MASK);
  uint64_t start = now_ns();
  free(live[at]);
  note(start);
  start = now_ns();
  live[at] = malloc(size);
  note(start);
}

static __attribute__((noinline)) int batch(int depth)
{
  if (depth <= 1) {
    for (int i = 0; i < BATCH_CALLS / 2; i++)
      replace_one();
    return 1;
  }
  volatile int below = batch(depth - 1);
  return below + 1;
}

static void sleep_ns(uint64_t ns)
{
  struct timespec pause = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
  nanosleep(&pause, NULL);
}

static int compare(const void *a, const void *b)
{
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return x < y ? -1 : x > y;
}

static uint32_t at_share(double share)
{
  long at = (long)((double)taken * share);
  return took_ns[at < taken ? at : taken - 1];
}

int main(int argc, char **argv)
{
  long calls = argc == 2 ? atol(argv[1]) : 0;
  if (calls < BATCH_CALLS || calls > CALLS_MAX) {
    fprintf(stderr, "usage: latency CALLS    (%d to %d)\n", BATCH_CALLS, CALLS_MAX);
    return 2;
  }
  calls -= calls % BATCH_CALLS;
  took_ns = malloc((size_t)calls * sizeof *took_ns);
  if (!took_ns)
    return 2;
  memset(took_ns, 1, (size_t)calls * sizeof *took_ns);
  for (int i = 0; i < LIVE_BLOCKS; i++)
    live[i] = malloc(SIZE_MIN + (next_random() & SIZE_MASK));
  int fifo = sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = PRIORITY}) == 0;
  if (fifo && mlockall(MCL_CURRENT | MCL_FUTURE))
    fprintf(stderr, "latency: memory is not locked\n");
  while (taken < calls) {
    uint64_t start = now_ns();
    batch(DEPTH);
    sleep_ns((now_ns() - start) / SLEEP_PART);
  }
  sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){0});
  qsort(took_ns, (size_t)taken, sizeof *took_ns, compare);
  printf("{\"calls\": %ld, \"fifo\": %s, \"p50_ns\": %u, \"p99_ns\": %u, \"p99_99_ns\": %u, \"max_ns\": %u}\n", taken,
         fifo ? "true" : "false", at_share(0.5), at_share(0.99), at_share(0.9999), took_ns[taken - 1]);
  return 0;
}
