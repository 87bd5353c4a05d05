/* allocator.h - the library that a user names as an allocator */
#ifndef HWI_LAUNCH_ALLOCATOR_H
#define HWI_LAUNCH_ALLOCATOR_H

#include <stdbool.h>

#include "base/error.h"

/* The names that hwi_allocator_find knows, for help. */
#define HWI_ALLOCATORS "tlsf, jemalloc, tcmalloc, mimalloc, tbb, or a library's file"

/* Finds the library that `name` means and makes it fit for LD_PRELOAD: a path (anything with a slash, or a file in this
 * folder); one of heapwright's own, `tlsf` for libheapwright-tlsf.so; `jemalloc`, `tcmalloc`, `mimalloc` or `tbb` as Linux
 * distributions have them; or a file name that the dynamic loader finds. *preload is malloc'd, NULL where it fails. */
int hwi_allocator_find(char **preload, const char *name, struct hwi_error *error);

/* With `preload`, malloc is no longer libc's. True also where the program dies of it: that is for its user to see. False where
 * it cannot be tried, too: then *error says why. */
bool hwi_allocator_is_loaded(const char *preload, struct hwi_error *error);

/* The library that malloc comes from where `preload` (NULL: nothing) is preloaded. *library is malloc'd; NULL, without an
 * error, where the program dies of it. */
int hwi_allocator_provider(char **library, const char *preload, struct hwi_error *error);

#endif
