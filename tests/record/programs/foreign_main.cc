/* foreign_main.cc - a program whose operators come from foreign_new.cc */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "entries_marks.h"

extern int foreign_given, foreign_taken;
void *foreign_malloc(size_t size);

static volatile size_t huge = PTRDIFF_MAX / 2;
static void *volatile p;

static void allocates_and_gives_up()
{
  free(malloc(3));
  operator delete(operator new(5));
  std::set_new_handler(nullptr);
}

int main()
{
  bool threw = false;
  if (entries_foreign)
    entries_foreign();
  MARKED({
    p = operator new(10);
    operator delete(p, size_t(10));
    p = operator new[](20);
    operator delete[](p);
    p = operator new(30, std::nothrow);
    operator delete(p);
  });
  std::set_new_handler(allocates_and_gives_up);
  p = NULL;
  MARKED(
      try { p = operator new(huge); } catch (const std::bad_alloc &) { threw = true; });
  MARKED(p = foreign_malloc(huge));
  MARKED(p = operator new(40); free(malloc(50)); operator delete(p));
  printf("threw %d, given %d, taken %d\n", threw, foreign_given, foreign_taken);
  return 0;
}
