/* steps.c - allocates step by step: each line on stdin is a number of blocks to allocate, `f` frees all, `p N` forks a child
 * that allocates N blocks and goes on until its parent ends, `k` kills the last child; each line is answered by one on stdout */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void *blocks[1 << 20];
static size_t count;

__attribute__((noinline)) static void *make(size_t size)
{
  return malloc(size);
}

static void allocate(long wanted)
{
  for (; wanted > 0 && count < sizeof blocks / sizeof *blocks; wanted--)
    blocks[count++] = make(100);
}

int main(void)
{
  static char line[64], out[BUFSIZ];
  pid_t child = 0;
  setvbuf(stdout, out, _IOLBF, sizeof out);
  setvbuf(stdin, NULL, _IONBF, 0);
  while (fgets(line, sizeof line, stdin)) {
    if (*line == 'f') {
      while (count > 0)
        free(blocks[--count]);
    } else if (*line == 'p' && (child = fork()) == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      allocate(strtol(line + 1, NULL, 10));
      pause();
    } else if (*line == 'k') {
      kill(child, SIGKILL);
      waitpid(child, NULL, 0);
      usleep(20000);
    } else if (*line != 'p') {
      allocate(strtol(line, NULL, 10));
    }
    puts("done");
  }
  return 0;
}
