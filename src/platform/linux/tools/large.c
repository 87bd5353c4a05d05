/* large.c - lists of many megabytes on Linux */
#define _GNU_SOURCE
#include "platform/os_large.h"

#include <stdint.h>
#include <sys/mman.h>

#include "platform/linux/call.h"
#include "platform/os.h"

/* `room` is a mapping of `bytes` and one huge page more. Returns the aligned start of `bytes` in it, and unmaps the
 * rest. */
static char *trim(char *room, size_t bytes)
{
  char *start = room + (-(uintptr_t)room & (HWI_OS_HUGE_PAGE_BYTES - 1));
  if (start > room)
    hwi_os_unmap(room, (size_t)(start - room));
  hwi_os_unmap(start + bytes, HWI_OS_HUGE_PAGE_BYTES - (size_t)(start - room));
  return start;
}

void *hwi_os_map_large(size_t bytes)
{
  long room =
      hwi_call_map(NULL, bytes + HWI_OS_HUGE_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return hwi_call_failed(room) ? NULL : trim((char *)room, bytes);
}

void *hwi_os_enlarge(void *start, size_t bytes, size_t larger)
{
  void *to = hwi_os_map_large(larger);
  if (!to)
    return NULL;
  if (!hwi_call_failed(CALL(SYS_mremap, start, bytes, larger, MREMAP_MAYMOVE | MREMAP_FIXED, to, 0)))
    return to; /* the request for huge pages also holds for the new pages */
  hwi_os_unmap(to, larger);
  return NULL;
}

void hwi_os_wish_for_huge_pages(void *start, size_t bytes)
{
  CALL3(SYS_madvise, start, bytes, MADV_HUGEPAGE);
}
