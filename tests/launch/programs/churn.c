/* churn.c - threads that allocate, resize, hand over and free blocks as fast as they can, until standard input ends
 *
 * churn THREADS [CHILDREN [PAUSE_US]]: CHILDREN processes at a time are forked all the while; each allocates and frees a
 * little, half of them also as a program that is executed. With PAUSE_US, the threads pause so long after a few steps. At the
 * end it prints a line, and returns 3.
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SLOTS = 512, STEPS = 300, STEPS_AT_ONCE = 32 };

static _Atomic(void *) slots[SLOTS]; /* any thread frees what any other put there */
static atomic_bool ends;
static useconds_t pause_us;

static unsigned next(unsigned *state)
{
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

__attribute__((noinline)) static void *make(unsigned number)
{
  return number % 16 ? malloc(1 + number % 700) : calloc(1 + number % 9, 3000);
}

/* Recurses, so that there are always new stacks. */
__attribute__((noinline)) static void *make_deep(unsigned number, unsigned depth)
{
  void *volatile made = depth ? make_deep(number, depth - 1) : make(number);
  return made;
}

static void step(unsigned *state)
{
  const unsigned number = next(state);
  void *made = make_deep(number, next(state) % 12);
  if (number % 5 == 0)
    made = realloc(made, 1 + next(state) % 5000);
  free(atomic_exchange(&slots[number % SLOTS], made));
}

static void *work(void *seed)
{
  unsigned state = (unsigned)(size_t)seed;
  while (!atomic_load(&ends)) {
    for (int i = 0; i < STEPS_AT_ONCE; i++)
      step(&state);
    if (pause_us)
      usleep(pause_us);
  }
  return NULL;
}

static void *short_thread(void *seed)
{
  unsigned state = (unsigned)(size_t)seed;
  for (int i = 0; i < STEPS; i++)
    step(&state);
  return NULL;
}

static void begin_child(char **argv)
{
  if (fork() != 0)
    return;
  unsigned state = (unsigned)getpid();
  for (int i = 0; i < STEPS; i++)
    step(&state);
  if (state & 1024)
    execl(argv[0], argv[0], "child", NULL);
  _exit(0);
}

static bool goes_on(void)
{
  return poll(&(struct pollfd){.fd = STDIN_FILENO, .events = POLLIN}, 1, 0) == 0;
}

int main(int argc, char **argv)
{
  enum { MOST_THREADS = 64 };
  pthread_t threads[MOST_THREADS], passing;
  size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
  long children = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
  pause_us = argc > 3 ? (useconds_t)strtoul(argv[3], NULL, 10) : 0;
  if (argc > 1 && strcmp(argv[1], "child") == 0)
    return short_thread((void *)1) != NULL;
  for (size_t i = 0; i < count; i++)
    pthread_create(&threads[i], NULL, work, (void *)(i + 1));
  while (goes_on()) {
    for (long i = 0; i < children; i++)
      begin_child(argv);
    pthread_create(&passing, NULL, short_thread, (void *)99);
    pthread_join(passing, NULL);
    while (children && waitpid(-1, NULL, WNOHANG) >= 0)
      usleep(1000);
    usleep(pause_us);
  }
  atomic_store(&ends, true);
  for (size_t i = 0; i < count; i++)
    pthread_join(threads[i], NULL);
  puts("done");
  return 3;
}
