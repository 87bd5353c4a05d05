/* callers.c - calls entry points from a frame whose place is announced: they must find it as their caller */
#include <stdlib.h>

#include "entries_marks.h"

#define CALLS_FROM_HERE() \
  if (entries_caller)     \
  entries_caller((void *)calls, (char *)__builtin_frame_address(0) - 256, __builtin_frame_address(0))

void *_Znwm(size_t size);
void _ZdlPv(void *block);

static __attribute__((noinline)) void calls(void)
{
  void *volatile p, *volatile q, *volatile aligned;
  CALLS_FROM_HERE();
  MARKED({
    p = malloc(10);
    q = calloc(2, 10);
    p = realloc(p, 1000);
    if (posix_memalign((void **)&aligned, 64, 64))
      abort();
    free(aligned);
    aligned = aligned_alloc(64, 64);
    free(aligned);
    free(p);
    free(q);
    p = _Znwm(20);
    _ZdlPv(p);
    p = malloc((size_t)-1 / 4);
  });
}

int main(void)
{
  calls();
  return 0;
}
