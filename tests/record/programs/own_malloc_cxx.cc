/* own_malloc_cxx.cc - a C++ program with its own malloc: operator new must use it, since free is called on its
 * blocks */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "entries_marks.h"

extern "C" {
static char arena[8 << 20] __attribute__((aligned(16)));
static size_t used;
static int strange;

void *malloc(size_t size)
{
  used += (size + 15) & ~size_t(15);
  return used > sizeof arena ? NULL : arena + used - ((size + 15) & ~size_t(15));
}

void free(void *block)
{
  strange += block && ((char *)block < arena || (char *)block >= arena + sizeof arena);
}

void *calloc(size_t n, size_t size)
{
  return malloc(n * size);
}

void *realloc(void *old, size_t size)
{
  return old ? memmove(malloc(size), old, size) : malloc(size);
}
}

int main()
{
  if (entries_foreign)
    entries_foreign();
  void *volatile p;
  MARKED(p = operator new(10); free(p); p = operator new[](20); operator delete[](p));
  printf("strange %d\n", strange);
  return 0;
}
