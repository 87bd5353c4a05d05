/* own_malloc.c - a program with its own malloc, which every library must use
 *
 * It has no reallocarray: libc's calls the program's realloc. Returns 0 if what it gets there is its own.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "entries_marks.h"

static _Alignas(16) char arena[1 << 20];
static size_t used;
static int given, taken, strange;

static int is_own(const char *block)
{
  return block >= arena && block < arena + sizeof arena;
}

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
  strange += block && !is_own(block);
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

static int has_reallocarray(void)
{
  char *volatile block = malloc(101);
  memcpy(block, "text", 5);
  block = reallocarray(block, 101, 31);
  const int is_right = is_own(block) && strcmp(block, "text") == 0;
  free(block);
  return is_right;
}

int main(void)
{
  if (entries_foreign)
    entries_foreign();
  int before = given;
  char *copy;
  MARKED(copy = strdup("text"); free(copy));
  printf("given %d, strange %d\n", given - before, strange);
  return !has_reallocarray() || strange;
}
