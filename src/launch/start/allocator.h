/* allocator.h - the library that a user names as an allocator */
#ifndef HWI_LAUNCH_START_ALLOCATOR_H
#define HWI_LAUNCH_START_ALLOCATOR_H

#include <stdbool.h>

#include "base/error.h"
#include "base/own_allocators.h"

struct hwi_program;

/* The names that hwi_allocator_find knows, for help. */
#define HWI_ALLOCATORS "tlsf, heap, jemalloc, tcmalloc, mimalloc, tbb, or a library's file"

/* Finds the library for `name` and its path for LD_PRELOAD. `name` is one of: a path (anything with a slash, or a file
 * in the current folder); one of heapwright's own allocators, `tlsf` for libheapwright-tlsf.so and `heap` for
 * libheapwright-heap.so; `jemalloc`, `tcmalloc`, `mimalloc` or `tbb`, found under the names that Linux distributions use;
 * a file name that the dynamic loader finds.
 * Returns 0, or a negative status. *preload is malloc'd, or NULL on failure. */
int hwi_allocator_find(char **preload, const char *name, struct hwi_error *error);

/* Returns whether `preload` replaces libc's malloc. Returns true also if the program crashes with it, since the user
 * will see the crash. Returns false, with the reason in *error, if this cannot be tried. */
bool hwi_allocator_is_loaded(const char *preload, struct hwi_error *error);

/* Returns why `program` keeps its own malloc although `preload` is preloaded: a phrase such as "is statically
 * linked". Returns NULL if no reason is known. */
const char *hwi_allocator_obstacle(const char *preload, const struct hwi_program *program);

/* The warning about it, for the command and the reason. */
#define HWI_ON_OWN_MALLOC "'%s' %s: it runs on its own malloc"

/* Finds the library that defines malloc when `preload` (NULL: nothing) is preloaded, and what a program that does
 * nothing prints on stderr with it, as one line, unless `printed` is NULL. *library and *printed are malloc'd. They are NULL, without an error,
 * if the program crashes with that library. */
int hwi_allocator_provider(char **library, char **printed, const char *preload, struct hwi_error *error);

#endif
