/* quick.c - an allocator with quick functions, which leave unusual requests to the checks. The counts of both are
 * written to QUICK_OUTPUT=FILE */
#include "simple.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { MALIGN = 16, MOST = 1000 };

static unsigned long quick, quick_aligned, checked, before_init, odd_requests;
static int has_begun;

static void quick_init(void)
{
  has_begun = 1;
}

static int is_own(const void *block)
{
  return (uintptr_t)block - (uintptr_t)simple_arena < sizeof simple_arena;
}

static inline void *quick_alloc(size_t size, void *(*otherwise)(size_t size))
{
  before_init += !has_begun;
  void *block = size && size <= MOST ? simple_alloc(size, MALIGN) : NULL;
  if (!block)
    return otherwise(size);
  quick++;
  return block;
}

/* Aligned requests are rare, so the quick function may examine them: an invalid one must not reach .alloc. */
static inline void *quick_alloc_aligned(size_t size, size_t align, void *(*otherwise)(size_t size, size_t align))
{
  before_init += !has_begun;
  odd_requests += (align & (align - 1)) != 0;
  void *block = size && size <= MOST && align && align <= MOST ? simple_alloc(size, align) : NULL;
  if (!block)
    return otherwise(size, align);
  quick_aligned++;
  return block;
}

static inline void quick_free(void *block, void (*otherwise)(void *block))
{
  if (!is_own(block))
    otherwise(block);
  else
    quick++;
}

static inline void *quick_realloc(void *block, size_t size, void *(*otherwise)(void *block, size_t size))
{
  if (!is_own(block) || !size || size > simple_usable_size(block))
    return otherwise(block, size);
  quick++;
  return block;
}

static void *checked_alloc(size_t size, size_t align)
{
  checked++;
  odd_requests += !size || !align || size + align > PTRDIFF_MAX;
  return simple_alloc(size, align);
}

static void checked_free(void *block)
{
  checked++;
  odd_requests += !is_own(block);
  simple_free(block);
}

__attribute__((destructor)) static void say(void)
{
  const char *name = getenv("QUICK_OUTPUT");
  FILE *out = name ? fopen(name, "w") : NULL;
  if (!out)
    return;
  fprintf(out, "%d %d %d %lu %lu\n", quick > 0, quick_aligned > 0, checked > 0, before_init, odd_requests);
  fclose(out);
}

HEAPWRIGHT_ALLOCATOR(.alloc = checked_alloc, .free = checked_free, .usable_size = simple_usable_size,
                     .init = quick_init, .quick_alloc = quick_alloc, .quick_alloc_aligned = quick_alloc_aligned,
                     .quick_free = quick_free, .quick_realloc = quick_realloc, .keeps_errno = true);
