/* many_stacks.c - blocks of 2^18 stacks, whose frames are 2^19 nodes of their tree; many of them change each second
 *
 * many_stacks SECONDS
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { DEPTH = 18, CHANGES = 300 };

static void *blocks[1 << DEPTH];

__attribute__((noinline)) static void right(uint32_t leaf, int depth);

static void change(uint32_t leaf)
{
  free(blocks[leaf]);
  blocks[leaf] = malloc(64 + leaf % 7 * 16);
}

__attribute__((noinline)) static void left(uint32_t leaf, int depth);

/* The bits of the leaf say which function calls which. */
static inline __attribute__((always_inline)) void descend(uint32_t leaf, int depth)
{
  if (depth == DEPTH)
    change(leaf);
  else if (leaf >> depth & 1)
    right(leaf, depth + 1);
  else
    left(leaf, depth + 1);
  __asm__ volatile(""); /* no tail calls */
}

static void left(uint32_t leaf, int depth)
{
  descend(leaf, depth);
}

static void right(uint32_t leaf, int depth)
{
  descend(leaf, depth);
}

int main(int argc, char **argv)
{
  const time_t end = time(NULL) + (argc > 1 ? strtol(argv[1], NULL, 10) : 10);
  uint32_t random = 1;
  for (uint32_t leaf = 0; leaf < 1U << DEPTH; leaf++)
    left(leaf, 0);
  while (time(NULL) < end) {
    for (int i = 0; i < CHANGES; i++) {
      random = random * 1664525 + 1013904223;
      left(random >> (32 - DEPTH), 0);
    }
    usleep(1000);
  }
  return 0;
}
