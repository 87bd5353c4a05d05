/* known.cc - the same calls N times; the test knows their number and bytes */
#include <cstdint>
#include <cstdlib>
#include <malloc.h>
#include <new>

static volatile size_t huge = PTRDIFF_MAX;
static void *volatile p, *volatile q;

static void once()
{
  p = malloc(100);
  p = realloc(p, 200);
  q = realloc(p, huge); /* fails */
  free(p);
  p = realloc(NULL, 7);
  p = realloc(p, 0); /* a free */
  p = reallocarray(NULL, 3, 5);
  q = reallocarray(p, SIZE_MAX / 2, 3); /* fails */
  free(p);
  free(NULL);
  p = calloc(3, 11);
  free(p);
  if (posix_memalign((void **)&p, 64, 65) != 0)
    abort();
  free(p);
  q = memalign(32, 31);
  free(q);
  p = operator new(17);
  operator delete(p, size_t(17));
  p = operator new[](19, std::nothrow);
  operator delete[](p);
  p = operator new(23, std::align_val_t(128));
  operator delete(p, std::align_val_t(128));
  operator delete(nullptr);
  p = operator new(huge, std::nothrow); /* fails */
}

int main(int argc, char **argv)
{
  for (int i = argc > 1 ? atoi(argv[1]) : 0; i > 0; i--)
    once();
  return 0;
}
