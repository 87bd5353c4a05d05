/* loop.c - malloc and free as fast as possible, at a given call depth and on a given number of threads
 *
 * usage: loop DEPTH THREADS PAIRS    (PAIRS of malloc and free, divided evenly among the threads)
 *
 * The stack never changes within a thread, and the blocks are those that an allocator returns fastest: the remaining
 * time is the cost of recording itself.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS_MAX = 64, DEPTH_MAX = 10000, SIZE_MIN = 16, SIZE_MASK = 63 };

struct job {
  int depth;
  long pairs;
};

static void pairs_of(long pairs)
{
  for (long i = 0; i < pairs; i++) {
    void *block = malloc(SIZE_MIN + (size_t)(i & SIZE_MASK));
    __asm__ volatile("" : : "r"(block) : "memory"); /* the compiler must not drop the pair */
    free(block);
  }
}

/* Not a tail call: the code after it keeps the frame. */
static __attribute__((noinline)) int descend(int depth, long pairs)
{
  if (depth <= 1) {
    pairs_of(pairs);
    return 1;
  }
  volatile int below = descend(depth - 1, pairs);
  return below + 1;
}

static void *run_job(void *argument)
{
  const struct job *job = argument;
  descend(job->depth, job->pairs);
  return NULL;
}

static long number(const char *text, long max)
{
  char *end;
  long value = strtol(text, &end, 10);
  if (*end || value < 1 || value > max) {
    fprintf(stderr, "loop: %s: not a number from 1 to %ld\n", text, max);
    exit(2);
  }
  return value;
}

int main(int argc, char **argv)
{
  if (argc != 4) {
    fprintf(stderr, "usage: loop DEPTH THREADS PAIRS\n");
    return 2;
  }
  int threads = (int)number(argv[2], THREADS_MAX);
  struct job job = {.depth = (int)number(argv[1], DEPTH_MAX), .pairs = number(argv[3], 1000000000L) / threads};
  pthread_t others[THREADS_MAX];
  for (int i = 1; i < threads; i++) {
    if (pthread_create(&others[i], NULL, run_job, &job)) {
      fprintf(stderr, "loop: no thread\n");
      return 2;
    }
  }
  run_job(&job);
  for (int i = 1; i < threads; i++)
    pthread_join(others[i], NULL);
  return 0;
}
