/* graph.c - builds a heap of many blocks that refer to each other, and waits to be dumped: graph BLOCKS
 *
 * Blocks have 32 to 400 bytes. A table of 1024 roots holds them; each block gets a reference from a random earlier one, one
 * more back to it, and a chance of a third. One in 1000 is lost. It prints how many were lost when all is built.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROOTS = 1024, LINKS = 2, LOST_ONE_IN = 1000, LEAST_BYTES = 32, MOST_BYTES = 400 };

struct node {
  struct node *links[LINKS];
  struct node *back;
};

static struct node *volatile roots[ROOTS]; /* nothing reads them */

static uint64_t next(uint64_t *random)
{
  *random ^= *random << 13;
  *random ^= *random >> 7;
  *random ^= *random << 17;
  return *random;
}

int main(int argc, char **argv)
{
  const size_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 5000000;
  uint64_t random = 88172645463325252, lost = 0;
  struct node **open = calloc(count ? count : 1, sizeof *open); /* blocks with a free link */
  size_t open_count = 0;
  for (size_t i = 0; open && i < count; i++) {
    const size_t bytes = LEAST_BYTES + next(&random) % (MOST_BYTES - LEAST_BYTES);
    struct node *node = malloc(bytes);
    if (!node)
      return 1;
    memset(node, 'x', bytes);
    memset(node, 0, sizeof *node);
    if (i % LOST_ONE_IN == LOST_ONE_IN - 1) {
      lost++;
      continue;
    }
    if (i < ROOTS) {
      roots[i] = node;
    } else {
      const size_t at = next(&random) % open_count;
      struct node *from = open[at];
      from->links[from->links[0] ? 1 : 0] = node;
      node->back = from;
      if (from->links[1])
        open[at] = open[--open_count];
    }
    open[open_count++] = node;
  }
  free(open);
  printf("%llu\n", (unsigned long long)lost);
  fflush(stdout);
  pause();
  return 0;
}
