/* large.c - memory for lists that may be as long as a recording has stacks */
#include "profile/large.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { HUGE_PAGE_BYTES = 1 << 21, SHORT_BYTES = HUGE_PAGE_BYTES };

void *hwi_large_calloc(size_t count, size_t item_bytes)
{
  void *list = calloc(count, item_bytes);
  if (!list || count * item_bytes < SHORT_BYTES)
    return list;
  const uintptr_t start = ((uintptr_t)list + HUGE_PAGE_BYTES - 1) & -(uintptr_t)HUGE_PAGE_BYTES;
  const uintptr_t end = ((uintptr_t)list + count * item_bytes) & -(uintptr_t)HUGE_PAGE_BYTES;
  if (end > start)
    madvise((void *)start, end - start, MADV_HUGEPAGE); /* a kernel that does not know them goes on as it was */
  return list;
}
