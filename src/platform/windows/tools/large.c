/* large.c - the interface to Windows for the tools' lists of many megabytes (os_large.h) */
#include "platform/os_large.h"

#include <stdint.h>
#include <string.h>
#include <windows.h>

#include "platform/os.h"

static void *reserve(size_t bytes)
{
  return VirtualAlloc(NULL, bytes, MEM_RESERVE, PAGE_READWRITE);
}

/* Memory has an alignment of 64 KiB. More is reserved, given back, and asked for again at the right place, which another thread may
 * have taken meanwhile. */
void *hwi_os_map_large(size_t bytes)
{
  enum { TRIES = 8 };
  for (int i = 0; i < TRIES; i++) {
    void *probe = reserve(bytes + HWI_OS_HUGE_PAGE_BYTES);
    if (!probe)
      return NULL;
    VirtualFree(probe, 0, MEM_RELEASE);
    uintptr_t start = ((uintptr_t)probe + HWI_OS_HUGE_PAGE_BYTES - 1) & ~(HWI_OS_HUGE_PAGE_BYTES - 1);
    void *memory = VirtualAlloc((void *)start, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
    if (memory)
      return memory;
  }
  return NULL;
}

void *hwi_os_enlarge(void *start, size_t bytes, size_t larger)
{
  void *made = hwi_os_map_large(larger);
  if (!made)
    return NULL;
  memcpy(made, start, bytes);
  hwi_os_unmap(start, bytes);
  return made;
}

/* Large pages need a privilege that users do not have. */
void hwi_os_wish_for_huge_pages(void *start, size_t bytes)
{
  (void)start, (void)bytes;
}
