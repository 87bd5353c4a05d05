/* next_malloc.h - blocks of another malloc, which an allocator with `owns` does not own
 *
 * Part of allocator.h. They go to the next malloc in the search order, which is libc's in nearly every program. It is
 * looked up when the first such block comes; dlsym may allocate, from us. An allocator all of whose blocks are the next malloc's
 * calls hw_next_look_up_all at its start: dlsym waits while musl forks, and the thread may have the lock of a stream, for which the
 * fork waits.
 */
/* SPDX-License-Identifier: MIT */
#ifndef HEAPWRIGHT_DETAIL_NEXT_MALLOC_H
#define HEAPWRIGHT_DETAIL_NEXT_MALLOC_H

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "heapwright/detail/begin.h"

#define HW_DLSYM_NEXT ((void *)-1L) /* RTLD_NEXT, which <dlfcn.h> has only with _GNU_SOURCE */

enum hw_next { HW_NEXT_FREE, HW_NEXT_REALLOC, HW_NEXT_USABLE_SIZE, HW_NEXT_COUNT };

static const char hw_next_names[HW_NEXT_COUNT][24] = {"free", "realloc", "malloc_usable_size"};
HW_THREAD_LOCAL bool hw_is_looking; /* this thread is looking one up: a foreign block freed meanwhile stays allocated */

/* Returns the next library's function of this kind, or NULL if there is none. */
HW_COLD void *hw_next_look_up(enum hw_next kind)
{
  static void *found[HW_NEXT_COUNT];
  void *function = __atomic_load_n(&found[kind], __ATOMIC_RELAXED);
  if (function || hw_is_looking)
    return function;
  hw_is_looking = true;
  function = dlsym(HW_DLSYM_NEXT, hw_next_names[kind]);
  hw_is_looking = false;
  __atomic_store_n(&found[kind], function, __ATOMIC_RELAXED);
  return function;
}

HW_OPERATION void hw_next_look_up_all(void)
{
  for (int kind = 0; kind < HW_NEXT_COUNT; kind++)
    hw_next_look_up((enum hw_next)kind);
}

/* The same, and reports with the block if there is none. */
HW_COLD void *hw_next_find(enum hw_next kind, const void *block)
{
  void *function = hw_next_look_up(kind);
  if (function || hw_is_looking)
    return function;
  char line[128];
  int bytes = snprintf(line, sizeof line,
                       "heapwright: %s(%p): the block does not belong to this allocator, and there is no other\n",
                       hw_next_names[kind], block);
  if (write(STDERR_FILENO, line, (size_t)bytes) < 0)
    return NULL; /* there is no way to report it */
  return NULL;
}

HW_COLD void hw_next_free(void *block)
{
  void *function = hw_next_find(HW_NEXT_FREE, block);
  if (function)
    (__extension__(void (*)(void *)) function)(block);
}

/* Returns NULL on failure; the block is then unchanged. */
HW_COLD void *hw_next_realloc(void *block, size_t size)
{
  void *function = hw_next_find(HW_NEXT_REALLOC, block);
  return function ? (__extension__(void *(*)(void *, size_t)) function)(block, size) : NULL;
}

HW_COLD size_t hw_next_usable_size(void *block)
{
  void *function = hw_next_find(HW_NEXT_USABLE_SIZE, block);
  return function ? (__extension__(size_t(*)(void *)) function)(block) : 0;
}

#endif
