/* exhaust.c - takes all the address space that it may have, allocates with nothing left, frees everything, and repeats
 * this
 * Usage: exhaust MIB. Prints how many rounds got as much as a limit of that size must give. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { LARGE = 100000, SMALLEST = 16, MOST_BLOCKS = 100000, ROUNDS = 8, SMALL_CALLS = 300000, SMALL = 50 };

static void *blocks[MOST_BLOCKS];
static void *volatile sink;

static void allocate_and_free(void)
{
  for (int i = 0; i < SMALL_CALLS && (sink = malloc(SMALL)); i++)
    free(sink);
}

static size_t take_all(void)
{
  size_t count = 0, bytes = 0;
  for (size_t size = LARGE; size >= SMALLEST; size /= 2)
    while (count < MOST_BLOCKS && (blocks[count] = malloc(size))) {
      count++;
      bytes += size;
    }
  allocate_and_free();
  while (count)
    free(blocks[--count]);
  return bytes;
}

int main(int argc, char **argv)
{
  size_t limit = (size_t)(argc > 1 ? atol(argv[1]) : 100) << 20;
  int full = 0;
  sink = malloc(1); /* the recording begins here */
  free(sink);
  if (setrlimit(RLIMIT_AS, &(struct rlimit){limit, limit}))
    return 3;
  for (int round = 0; round < ROUNDS; round++) {
    full += take_all() > limit / 2;
    allocate_and_free();
  }
  printf("%d of %d rounds\n", full, ROUNDS);
}
