/* many_stacks.c - an allocation in each leaf of a binary tree of calls, and then a thousand in one place
 * Usage: many_stacks LEVELS. There are 2^LEVELS distinct stacks, and twice as many nodes in their tree. */
#include <stdio.h>
#include <stdlib.h>

enum { AFTERWARDS = 1000 };

static void *volatile sink;

static __attribute__((noinline)) void climb(int level)
{
  if (!level) {
    sink = malloc(33);
    free(sink);
    return;
  }
  climb(level - 1);
  sink = NULL; /* two calls from two places, neither of them a tail call */
  climb(level - 1);
  sink = NULL;
}

int main(int argc, char **argv)
{
  climb(argc > 1 ? atoi(argv[1]) : 20);
  for (int i = 0; i < AFTERWARDS; i++) {
    sink = malloc(44);
    free(sink);
  }
  puts("done");
}
