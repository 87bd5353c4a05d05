/* sampling.c - allocates in many ways, for test_sampling.py
 *
 * usage: sampling sizes ROUNDS SIZE...   in each round, allocates and frees a block of each size
 *        sampling mix THREADS CALLS      random calls in threads, which also free each other's blocks; children by fork
 *        sampling handlers CALLS         the same, also in a signal handler that interrupts them anywhere
 *        sampling lives THREADS          threads one after the other, with few calls each
 *
 * At the end, `mix` prints its live blocks as `live ADDRESS`. If HOLD is set, it then waits to be killed. A loop of mallocs
 * and frees is never in a function that the compiler could drop.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SHARED = 512, SIZE_MAX_LOG2 = 14, SIGNAL_US = 200 };

static void *_Atomic shared[SHARED];
static long calls;

static uint64_t next_random(uint64_t *state)
{
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return *state >> 33;
}

static void *new_block(uint64_t *random)
{
  size_t size = next_random(random) % (UINT64_C(1) << next_random(random) % SIZE_MAX_LOG2);
  void *block = NULL;
  switch (next_random(random) % 8) {
  case 0:
    return calloc(1, size);
  case 1:
    return aligned_alloc(64, size);
  case 2:
    return posix_memalign(&block, 4096, size) ? NULL : block;
  case 3:
    return realloc(NULL, size);
  default:
    return malloc(size);
  }
}

/* Takes a block that any thread may have put there, and leaves another one or none. */
static void one_call(uint64_t *random)
{
  void *_Atomic *place = &shared[next_random(random) % SHARED];
  void *block = __atomic_exchange_n(place, NULL, __ATOMIC_ACQ_REL);
  switch (next_random(random) % 4) {
  case 0:
    free(block);
    return;
  case 1: {
    size_t size = 1 + next_random(random) % 9000;
    block = realloc(block, size);
    break;
  }
  case 2:
    if (block && !realloc(block, (size_t)1 << 62)) /* fails: the block stays */
      break;
    /* fall through */
  default:
    free(block);
    block = new_block(random);
  }
  free(__atomic_exchange_n(place, block, __ATOMIC_ACQ_REL));
}

static void *work(void *argument)
{
  uint64_t random = (uintptr_t)argument;
  for (long i = 0; i < calls; i++)
    one_call(&random);
  return NULL;
}

static void work_in_threads(long count)
{
  pthread_t threads[64];
  for (long i = 0; i < count; i++)
    pthread_create(&threads[i], NULL, work, (void *)(i + getpid()));
  for (long i = 0; i < count; i++)
    pthread_join(threads[i], NULL);
}

static int mix(long threads)
{
  char line[64];
  work_in_threads(threads);
  for (int child = 0; child < 2; child++)
    if (fork() == 0) {
      work_in_threads(threads); /* frees many blocks of its parent */
      _exit(0);
    }
  work_in_threads(threads);
  while (wait(NULL) > 0)
    continue;
  for (int i = 0; i < SHARED; i++)
    if (shared[i])
      (void)!write(1, line, (size_t)snprintf(line, sizeof line, "live %p\n", shared[i]));
  (void)!write(1, "end\n", 4);
  while (getenv("HOLD"))
    pause();
  return 0;
}

static int sizes(long rounds, char **words)
{
  for (long i = 0; i < rounds; i++)
    for (char **word = words; *word; word++) {
      void *volatile block = malloc(strtoul(*word, NULL, 10));
      free(block);
    }
  return 0;
}

static uint64_t handlers_random = 5;

static void handle(int number)
{
  (void)number;
  for (int i = 0; i < 20; i++)
    one_call(&handlers_random);
}

static int handlers(void)
{
  struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
  struct itimerval often = {{0, SIGNAL_US}, {0, SIGNAL_US}}, never = {0};
  uint64_t random = 3;
  one_call(&random);
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &often, NULL);
  for (long i = 0; i < calls; i++)
    one_call(&random);
  setitimer(ITIMER_REAL, &never, NULL);
  return 0;
}

static void *few_calls(void *argument)
{
  (void)argument;
  for (int i = 0; i < 10; i++) {
    void *volatile block = malloc(10);
    free(block);
  }
  return NULL;
}

static int lives(long threads)
{
  pthread_t thread;
  for (long i = 0; i < threads; i++) {
    pthread_create(&thread, NULL, few_calls, NULL);
    pthread_join(thread, NULL);
  }
  return 0;
}

int main(int argc, char **argv)
{
  if (argc < 3)
    return 2;
  calls = strtol(argv[argc - 1], NULL, 10);
  return strcmp(argv[1], "mix") == 0        ? mix(strtol(argv[2], NULL, 10))
         : strcmp(argv[1], "sizes") == 0    ? sizes(strtol(argv[2], NULL, 10), argv + 3)
         : strcmp(argv[1], "handlers") == 0 ? handlers()
                                            : lives(strtol(argv[2], NULL, 10));
}
