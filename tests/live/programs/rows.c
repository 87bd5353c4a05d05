/* rows.c - blocks of several stacks, threads and sizes, step by step: `alpha N`, `beta N` (in a thread of this name) and `churn N` on
 * stdin, `free` frees those of alpha, `fork N` has a child that allocates as beta does and goes on until its parent ends; each
 * line is answered by one on stdout */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

void *kept[1 << 20], *others[1 << 20]; /* not static: the compiler would leave out blocks that are never read */
static size_t kept_count, other_count;

__attribute__((noinline)) static void alpha(long count)
{
  while (count-- > 0)
    kept[kept_count++] = malloc(1000);
}

__attribute__((noinline)) static void *beta(void *count)
{
  for (long left = *(long *)count; left > 0; left--)
    others[other_count++] = malloc(64);
  return NULL;
}

__attribute__((noinline)) static void churn(long count)
{
  while (count-- > 0) {
    void *volatile block = malloc(24);
    free(block);
  }
}

static void *begin_thread(void *count)
{
  pthread_setname_np(pthread_self(), "beta");
  return beta(count);
}

static void in_thread(long count)
{
  pthread_t thread;
  pthread_create(&thread, NULL, begin_thread, &count);
  pthread_join(thread, NULL);
}

static void fork_child(long count)
{
  if (fork() != 0)
    return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  beta(&count);
  pause();
}

int main(void)
{
  static char line[64], out[BUFSIZ];
  long count;
  setvbuf(stdout, out, _IOLBF, sizeof out);
  setvbuf(stdin, NULL, _IONBF, 0);
  while (fgets(line, sizeof line, stdin)) {
    char *number = strchr(line, ' ');
    count = strtol(number ? number : line, NULL, 10);
    if (*line == 'b')
      in_thread(count);
    else if (*line == 'c')
      churn(count);
    else if (strncmp(line, "fo", 2) == 0)
      fork_child(count);
    else if (*line == 'f')
      while (kept_count > 0)
        free(kept[--kept_count]);
    else
      alpha(count);
    puts("done");
  }
  return 0;
}
