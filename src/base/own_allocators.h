/* own_allocators.h - the libraries that are heapwright's own malloc for a process */
#ifndef HWI_BASE_OWN_ALLOCATORS_H
#define HWI_BASE_OWN_ALLOCATORS_H

#include <stdbool.h>
#include <string.h>

#include "base/suffix.h"

#define HWI_POOL_LIBRARY "libheapwright-tlsf.so"
#define HWI_HEAP_LIBRARY "libheapwright-heap.so"

/* Returns whether a path is that of the library `name`, or of a link to it; or the name alone, by which the loader finds it. */
static inline bool hwi_is_library(const char *path, const char *name)
{
  return hwi_ends_in(path, strlen(path), name);
}

/* Returns whether the library at `path` serves only programs on glibc: it passes the calls of others on to the next malloc. */
static inline bool hwi_serves_only_glibc(const char *path)
{
  return hwi_is_library(path, HWI_POOL_LIBRARY) || hwi_is_library(path, HWI_HEAP_LIBRARY);
}

#endif
