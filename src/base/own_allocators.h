/* own_allocators.h - the libraries that are heapwright's own malloc for a process */
#ifndef HWI_BASE_OWN_ALLOCATORS_H
#define HWI_BASE_OWN_ALLOCATORS_H

#include <stdbool.h>
#include <string.h>

#include "base/suffix.h"

#define HWI_POOL_LIBRARY "libheapwright-tlsf.so"
#define HWI_HEAP_LIBRARY "libheapwright-heap.so"

/* Returns whether the library at `path`, or the link there, serves only programs on glibc: it passes the calls of others on to the
 * next malloc. */
static inline bool hwi_serves_only_glibc(const char *path)
{
  const size_t bytes = strlen(path);
  return hwi_has_suffix(path, bytes, HWI_POOL_LIBRARY) || hwi_has_suffix(path, bytes, HWI_HEAP_LIBRARY);
}

#endif
