/* crash.c - is killed by SIGSEGV, with five blocks from each of two stacks, and two blocks free in the cache of its thread */
#include <stdlib.h>
#include <string.h>

#define FRAME __attribute__((noinline, noclone))

static void *volatile kept[10];

FRAME static void *make(size_t size)
{
  void *block = malloc(size);
  memset(block, 1, size);
  __asm__ volatile("" : "+r"(block));
  return block;
}

FRAME static void *first(void)
{
  void *block = make(1000);
  __asm__ volatile("" : "+r"(block));
  return block;
}

FRAME static void *second(void)
{
  void *block = make(3000);
  __asm__ volatile("" : "+r"(block));
  return block;
}

FRAME static void crash(long *volatile at)
{
  *at = 7;
  __asm__ volatile("");
}

int main(void)
{
  for (int i = 0; i < 5; i++) {
    kept[i] = first();
    kept[i + 5] = second();
  }
  void *one = make(64), *two = make(64);
  free(one);
  free(two);
  crash((long *)16);
  return 0;
}
