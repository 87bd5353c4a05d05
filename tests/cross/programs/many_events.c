/* many_events.c - PAIRS   allocates and frees PAIRS blocks of many sizes, for a trace of many megabytes */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
  static void *volatile blocks[64];
  const long pairs = argc > 1 ? atol(argv[1]) : 0;
  unsigned long long bytes = 0;
  for (long i = 0; i < pairs; i++) {
    const size_t size = 1 + (unsigned long)i * 7919 % 100003;
    free(blocks[i % 64]);
    blocks[i % 64] = malloc(size);
    bytes += size;
  }
  printf("%llu\n", bytes);
  return 0;
}
