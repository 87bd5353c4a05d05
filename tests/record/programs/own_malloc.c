/* own_malloc.c - a program with its own malloc, which every library must use */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "entries_marks.h"

static _Alignas(16) char arena[1 << 20];
static size_t used;
static int given, taken, strange;

void *malloc(size_t size)
{
  size_t need = (size + 31) & ~(size_t)15;
  if (used + need > sizeof arena)
    return NULL;
  *(size_t *)(arena + used) = size;
  used += need;
  given++;
  return arena + used - need + 16;
}

void free(void *block)
{
  if (block && ((char *)block < arena || (char *)block >= arena + sizeof arena))
    strange++;
  taken += block != NULL;
}

void *calloc(size_t n, size_t size)
{
  return malloc(n * size);
}

void *realloc(void *old, size_t size)
{
  void *block = malloc(size);
  if (old)
    memcpy(block, old, ((size_t *)old)[-2]);
  return block;
}

int main(void)
{
  if (entries_foreign)
    entries_foreign();
  int before = given;
  char *copy;
  MARKED(copy = strdup("text"); free(copy));
  printf("given %d, strange %d\n", given - before, strange);
  return 0;
}
