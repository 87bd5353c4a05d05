/* pass_on.c - passes allocations on to the next malloc in the search order */
#include "allocators/pass_on.h"

#include "platform/os_heap.h"

enum { PLAIN_ALIGN = __alignof__(max_align_t) }; /* what malloc gives: 8 on 32-bit Arm */

static void *(*next_malloc)(size_t bytes);
static void *(*next_aligned_alloc)(size_t align, size_t bytes);

bool hwi_pass_on_begin(void)
{
  next_malloc = (__extension__(void *(*)(size_t)) hwi_os_next_function("malloc"));
  next_aligned_alloc = (__extension__(void *(*)(size_t, size_t)) hwi_os_next_function("aligned_alloc"));
  return next_malloc != NULL;
}

void *hwi_pass_on(size_t bytes, size_t align)
{
  if (align <= PLAIN_ALIGN)
    return next_malloc ? next_malloc(bytes) : NULL;
  return next_aligned_alloc ? next_aligned_alloc(align, bytes) : NULL;
}
