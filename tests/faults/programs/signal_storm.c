/* signal_storm.c - timer signals whose handlers allocate, and sometimes leave by siglongjmp, while the program
 * allocates
 * Usage: signal_storm ROUNDS JUMP(0|1) ALTSTACK(0|1) */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

static sigjmp_buf back;
static volatile sig_atomic_t may_jump, signals;
static int jump;

/* It allocates wherever it interrupts: the program runs on ring_allocator.c, which allows that. */
static void handler(int signal)
{
  (void)signal;
  signals++;
  void *volatile block = malloc(449);
  free(block);
  if (!jump || !may_jump || signals % 3 != 0)
    return;
  may_jump =
      0; /* the next signal comes while this stack is still in use, and leaving it would keep it so for ever, too */
  siglongjmp(back, 1);
}

int main(int argc, char **argv)
{
  long rounds = argc > 1 ? atol(argv[1]) : 200000;
  jump = argc > 2 && argv[2][0] == '1';
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
  if (argc > 3 && argv[3][0] == '1') {
    stack_t stack = {.ss_sp = malloc(SIGSTKSZ * 4), .ss_size = (size_t)SIGSTKSZ * 4};
    sigaltstack(&stack, NULL);
    action.sa_flags |= SA_ONSTACK;
  }
  sigaction(SIGALRM, &action, NULL);
  struct itimerval interval = {{0, 50}, {0, 50}};
  setitimer(ITIMER_REAL, &interval, NULL);
  volatile long round = 0;
  sigsetjmp(back, 1);
  may_jump = 1;
  for (; round < rounds; round++) {
    char *volatile block = malloc(777);
    memset(block, 1, 777);
    free(block);
  }
  may_jump = 0;
  setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
  puts("done");
  return 0;
}
