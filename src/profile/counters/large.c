/* large.c - memory for lists that may have an item for each stack */
#include "profile/counters/large.h"

#include <stdint.h>
#include <stdlib.h>

#include "platform/os_large.h"

void *hwi_large_calloc(size_t count, size_t item_bytes)
{
  void *list = calloc(count, item_bytes);
  if (!list || count * item_bytes < HWI_OS_HUGE_PAGE_BYTES)
    return list;
  const uintptr_t start = ((uintptr_t)list + HWI_OS_HUGE_PAGE_BYTES - 1) & -(uintptr_t)HWI_OS_HUGE_PAGE_BYTES;
  const uintptr_t end = ((uintptr_t)list + count * item_bytes) & -(uintptr_t)HWI_OS_HUGE_PAGE_BYTES;
  if (end > start)
    hwi_os_wish_for_huge_pages((void *)start, end - start);
  return list;
}
