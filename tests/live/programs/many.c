/* many.c - many events of several threads, in scopes and between marks: for each line on stdin, a number of pairs of malloc and free for
 * each thread, all is done, and answered by a line on stdout. With the first line, a child begins, which stays to the end. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heapwright/monitor.h"

enum { THREADS = 3, BLOCKS = 200 };

static void *blocks[THREADS][BLOCKS];
static long pairs;

static void *work(void *context)
{
  void **own = context;
  unsigned random = (unsigned)(own - blocks[0]) + 1;
  for (long i = 0; i < pairs; i++) {
    HW_SCOPE("a step");
    random = random * 1103515245 + 12345;
    void **block = &own[(random >> 8) % BLOCKS];
    free(*block);
    *block = malloc(16 + (random >> 20));
  }
  return NULL;
}

static pid_t begin_child(void)
{
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 0; i < 1000; i++)
      *(void *volatile *)&blocks[0][i % BLOCKS] = malloc(50);
    pause();
  }
  return child;
}

int main(void)
{
  static char line[64];
  pthread_t threads[THREADS];
  pid_t child = 0;
  while (fgets(line, sizeof line, stdin)) {
    pairs = strtol(line, NULL, 10);
    hw_mark("begin");
    for (int i = 0; i < THREADS; i++)
      pthread_create(&threads[i], NULL, work, blocks[i]);
    for (int i = 0; i < THREADS; i++)
      pthread_join(threads[i], NULL);
    if (!child)
      child = begin_child();
    puts("done");
    fflush(stdout);
  }
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  return 0;
}
