/* failing_malloc.h - a malloc that has no memory at the n-th call, for a test that is one C file
 *
 * It precedes the C library's and the sanitizers' malloc. So calls that these make for the caller fail as well, if they
 * call malloc.
 */
#ifndef HWI_TESTS_TRACE_FAILING_MALLOC_H
#define HWI_TESTS_TRACE_FAILING_MALLOC_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

static struct {
  uint64_t left;     /* number of calls that succeed */
  uint64_t failures; /* number of calls that fail after them */
  long live_count;   /* blocks allocated and not freed since failing_malloc_arm */
  bool armed, failed;
} failing;

/* After the first `calls` calls, the next `failures` ones fail, until failing_malloc_disarm. */
static void failing_malloc_arm(uint64_t calls, uint64_t failures)
{
  failing.left = calls;
  failing.failures = failures;
  failing.live_count = 0;
  failing.failed = false;
  failing.armed = true;
}

/* Returns true if some call has failed. */
static bool failing_malloc_disarm(void)
{
  failing.armed = false;
  return failing.failed;
}

static bool refuse(void)
{
  if (!failing.armed)
    return false;
  if (failing.left) {
    failing.left--;
    return false;
  }
  if (!failing.failures)
    return false;
  failing.failures--;
  failing.failed = true;
  errno = ENOMEM;
  return true;
}

static void *count(void *block)
{
  if (failing.armed && block)
    failing.live_count++;
  return block;
}

/* The sanitizer's function, or else the C library's. dlsym may free, so it cannot be called from within free. */
#define NEXT(type, name, parameters)                                    \
  extern type __interceptor_##name parameters __attribute__((weak));    \
  extern type __libc_##name parameters;                                 \
  static type(*next_##name(void)) parameters                            \
  {                                                                     \
    return __interceptor_##name ? __interceptor_##name : __libc_##name; \
  }
NEXT(void *, malloc, (size_t))
NEXT(void *, calloc, (size_t, size_t))
NEXT(void *, realloc, (void *, size_t))
NEXT(void, free, (void *))
#undef NEXT

/* Returns the number of blocks that the code under test did not free. A sanitizer finds them itself, and its strdup is
 * not counted here. */
static long failing_malloc_leaks(void)
{
  return __interceptor_malloc ? 0 : failing.live_count;
}

void *malloc(size_t size)
{
  return refuse() ? NULL : count(next_malloc()(size));
}

void *calloc(size_t items, size_t size)
{
  return refuse() ? NULL : count(next_calloc()(items, size));
}

extern void *__interceptor_aligned_alloc(size_t, size_t) __attribute__((weak));
extern void *__libc_memalign(size_t, size_t);

void *aligned_alloc(size_t alignment, size_t size)
{
  if (refuse())
    return NULL;
  return count((__interceptor_aligned_alloc ? __interceptor_aligned_alloc : __libc_memalign)(alignment, size));
}

void *realloc(void *block, size_t size)
{
  if (refuse())
    return NULL;
  void *made = next_realloc()(block, size);
  return block ? made : count(made);
}

void free(void *block)
{
  if (failing.armed && block)
    failing.live_count--;
  next_free()(block);
}

#endif
