/* recursion.c - a recursion with an allocation at each level. Usage: recursion LEVELS */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static __attribute__((noinline)) long descend(long level)
{
  char *volatile block = malloc(32);
  block[0] = (char)level;
  long below = level ? descend(level - 1) : 0;
  long result = below + block[0];
  free(block);
  return result;
}

int main(int argc, char **argv)
{
  struct rlimit limit = {256 << 20, RLIM_INFINITY};
  struct rlimit now;
  getrlimit(RLIMIT_STACK, &now);
  if (now.rlim_cur != RLIM_INFINITY && now.rlim_cur < limit.rlim_cur) { /* the main stack's size is fixed at exec */
    if (setrlimit(RLIMIT_STACK, &limit))
      return 3;
    execv("/proc/self/exe", argv);
    return 4;
  }
  printf("%ld\n", descend(argc > 1 ? atol(argv[1]) : 100000));
  return 0;
}
