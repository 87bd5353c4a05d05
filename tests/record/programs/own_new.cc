/* own_new.cc - a program that replaces one operator new and one operator delete, as the standard allows
 *
 * All other variants must call these two: a block that came from elsewhere has no header, and the check fails.
 */
#include <cstdio>
#include <cstdlib>
#include <new>

#include "entries_marks.h"

static int given, taken;

struct header {
  size_t magic, size;
};

void *operator new(size_t size)
{
  header *block = (header *)malloc(sizeof(header) + size);
  block->magic = 0x600d;
  block->size = size;
  given++;
  return block + 1;
}

void operator delete(void *block) noexcept
{
  if (!block)
    return;
  header *own = (header *)block - 1;
  if (own->magic != 0x600d) {
    printf("not my block\n");
    exit(1);
  }
  taken++;
  free(own);
}

int main()
{
  if (entries_foreign)
    entries_foreign();
  MARKED({
    operator delete(operator new(10), size_t(10));
    operator delete[](operator new[](20));
    operator delete[](operator new[](30, std::nothrow), std::nothrow);
    operator delete(operator new(40, std::nothrow), std::nothrow);
    operator delete[](operator new[](50), size_t(50));
  });
  printf("given %d, taken %d\n", given, taken);
  return 0;
}
