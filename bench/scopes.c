/* scopes.c - what a scope costs its program
 *
 * usage: scopes COUNT empty|heap|calls|scopes    prints the nanoseconds of a round on stderr
 *
 * A round begins and ends a scope (empty), reports a block of a heap of the program's own and its free (heap), allocates and
 * frees a block (calls), or begins and ends a scope around that (scopes): reports on the last two can be compared.
 */
#include <heapwright/monitor.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void *volatile kept;

static double now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static __attribute__((noinline)) void call(void)
{
  kept = malloc(40);
  free(kept);
}

static __attribute__((noinline)) void scope_alone(void)
{
  HW_SCOPE("round");
  __asm__ volatile("" ::: "memory");
}

static struct hw_custom_heap heap;

static __attribute__((noinline)) void heap_alone(void)
{
  hw_custom_heap_alloc(&heap, &heap, 40);
  hw_custom_heap_free(&heap, &heap);
}

static __attribute__((noinline)) void call_in_scope(void)
{
  HW_SCOPE("round");
  call();
}

int main(int argc, char **argv)
{
  if (argc != 3)
    return 2;
  void (*const round)(void) = strcmp(argv[2], "empty") == 0    ? scope_alone
                              : strcmp(argv[2], "heap") == 0   ? heap_alone
                              : strcmp(argv[2], "scopes") == 0 ? call_in_scope
                                                               : call;
  long count = atol(argv[1]);
  heap = hw_custom_heap_create("bench");
  double start = now_ns();
  for (long i = 0; i < count; i++)
    round();
  fprintf(stderr, "%.2f\n", (now_ns() - start) / (double)count);
}
