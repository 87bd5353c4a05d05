/* fork_in_handler.c - a timer's handler forks while the program allocates; parent and child both go on where they were.
 * It must run on ring_allocator.c, which may be interrupted anywhere.
 * Usage: fork_in_handler FORKS. The exit status is 0 if every child ended with 7. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCK_BYTES = 333, ROUNDS_OF_A_CHILD = 2000, AT_ONCE = 4 };

static volatile sig_atomic_t forks, is_child, unfinished;
static volatile int bad;

static void reap(int options)
{
  int status;
  while (unfinished > 0 && waitpid(-1, &status, options) > 0) {
    unfinished--;
    bad += !WIFEXITED(status) || WEXITSTATUS(status) != 7;
  }
}

static void handler(int signal)
{
  (void)signal;
  if (is_child || !forks)
    return;
  reap(WNOHANG);
  if (unfinished >= AT_ONCE)
    return;
  pid_t child = _Fork();
  if (child == 0)
    is_child = 1;
  if (child > 0) {
    forks--;
    unfinished++;
  }
}

int main(int argc, char **argv)
{
  forks = argc > 1 ? atoi(argv[1]) : 100;
  signal(SIGALRM, handler);
  setitimer(ITIMER_REAL, &(struct itimerval){{0, 300}, {0, 300}}, NULL);
  for (long child_rounds = 0; forks || is_child; child_rounds += is_child) {
    char *volatile block = malloc(BLOCK_BYTES);
    block[0] = 1;
    free(block);
    if (child_rounds == ROUNDS_OF_A_CHILD)
      _exit(7);
  }
  setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
  reap(0);
  printf("%d bad\n", bad);
  return bad != 0;
}
