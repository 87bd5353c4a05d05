/* nested_signals.c - three levels of signal handlers that allocate; each interrupts the one before
 * Usage: nested_signals ROUNDS. Prints how many blocks were allocated; each was freed. Runs on ring_allocator.c. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { LEVELS = 3, BLOCK_BYTES = 777, HANDLER_BLOCKS = 4 };

static _Atomic unsigned long made, depth, deepest;

static void allocate(size_t size)
{
  atomic_fetch_add(&made, 1);
  void *volatile block = malloc(size);
  free(block);
}

static void handle(int number)
{
  unsigned long now = atomic_fetch_add(&depth, 1) + 1;
  if (now > deepest)
    deepest = now;
  for (int i = 0; i < HANDLER_BLOCKS; i++)
    allocate((size_t)(BLOCK_BYTES + 1 + number - SIGRTMIN));
  atomic_fetch_sub(&depth, 1);
}

int main(int argc, char **argv)
{
  long rounds = argc > 1 ? atol(argv[1]) : 100000;
  timer_t timers[LEVELS];
  for (int i = 0; i < LEVELS; i++) {
    sigaction(SIGRTMIN + i, &(struct sigaction){.sa_handler = handle, .sa_flags = SA_RESTART}, NULL);
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + i};
    struct itimerspec interval = {{0, 1000000 + 170000 * i}, {0, 1000000 + 170000 * i}};
    timer_create(CLOCK_MONOTONIC, &event, &timers[i]);
    timer_settime(timers[i], 0, &interval, NULL);
  }
  while (rounds-- > 0 || deepest < LEVELS)
    allocate(BLOCK_BYTES);
  for (int i = 0; i < LEVELS; i++)
    timer_settime(timers[i], 0, &(struct itimerspec){0}, NULL);
  char text[64];
  int bytes = snprintf(text, sizeof text, "%lu\n", (unsigned long)made);
  return write(1, text, (size_t)bytes) != bytes;
}
