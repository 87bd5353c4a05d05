/* contract.c - calls every entry point of C at its edges, and prints the results
 *
 * The output is the same with and without a preloaded library. Nothing is printed between the calls of a step, so that
 * the entry points report only the calls of the steps.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "entries_marks.h"

static void *volatile p, *volatile q, *volatile r;
static volatile size_t huge = PTRDIFF_MAX, half = SIZE_MAX / 2 + 2, zero = 0, odd = 24;
static int failed, result;

#define KEPT 1234

/* One step: errno is set to KEPT before, the calls run, and a line prints the results in the arguments. */
#define STEP(name, calls, ...) \
  do {                         \
    errno = KEPT;              \
    MARKED(calls);             \
    failed = errno;            \
    printf("%s: ", name);      \
    printf(__VA_ARGS__);       \
    printf("\n");              \
  } while (0)

static const char *word(int error)
{
  return error == KEPT ? "kept" : error == ENOMEM ? "ENOMEM" : error == EINVAL ? "EINVAL" : error ? "other" : "0";
}

static int is_zero(const char *block, size_t size)
{
  for (size_t i = 0; i < size; i++)
    if (block[i])
      return 0;
  return 1;
}

static int is_aligned(const void *block, size_t align)
{
  return (uintptr_t)block % align == 0;
}

/* All bytes that malloc_usable_size reports may be written. */
static int is_writable(void *block, size_t asked)
{
  size_t usable = malloc_usable_size(block);
  memset(block, 0xa5, usable);
  return usable >= asked;
}

static void simple(void)
{
  STEP("malloc", (p = malloc(100), q = p), "%d %s", is_writable(p, 100), word(failed));
  STEP("free", free(p), "%s", word(failed));
  STEP("malloc 0", (p = malloc(0), q = malloc(0)), "%d %s", p && q && p != q, word(failed));
  STEP("free both", (free(p), free(q)), "%s", word(failed));
  STEP("free NULL", free(NULL), "%s", word(failed));
  STEP("malloc huge", p = malloc(huge), "%d %s", p == NULL, word(failed));
  STEP("calloc", p = calloc(7, 9), "%d %s", is_zero(p, 63), word(failed));
  STEP("free", free(p), "%s", word(failed));
  STEP("calloc 0", p = calloc(zero, 9), "%d %s", p != NULL, word(failed));
  STEP("free", free(p), "%s", word(failed));
  STEP("calloc overflow", p = calloc(half, 2), "%d %s", p == NULL, word(failed));
}

static void reallocs(void)
{
  STEP("realloc NULL", p = realloc(NULL, 10), "%d %s", is_writable(p, 10), word(failed));
  memcpy(p, "heap", 5);
  STEP("realloc larger", (q = p, p = realloc(p, 100000)), "%s %s", (char *)p, word(failed));
  STEP("realloc smaller", p = realloc(p, 12), "%s %s", (char *)p, word(failed));
  STEP("realloc huge", q = realloc(p, huge), "%d %s %s", q == NULL, (char *)p, word(failed));
  STEP("realloc to 0", q = realloc(p, zero), "%d %s", q == NULL, word(failed));
  STEP("realloc NULL 0", p = realloc(NULL, zero), "%d %s", p != NULL, word(failed));
  STEP("free", free(p), "%s", word(failed));
  STEP("reallocarray NULL", p = reallocarray(NULL, 3, 5), "%d %s", is_writable(p, 15), word(failed));
  memcpy(p, "array", 6);
  STEP("reallocarray larger", p = reallocarray(p, 1000, 50), "%s %s", (char *)p, word(failed));
  STEP("reallocarray overflow", q = reallocarray(p, half, 2), "%d %s %s", q == NULL, (char *)p, word(failed));
  STEP("reallocarray 0", q = reallocarray(p, zero, 8), "%d %s", q == NULL, word(failed));
  STEP("reallocarray NULL overflow", p = reallocarray(NULL, half, 2), "%d %s", p == NULL, word(failed));
}

static void aligned(void)
{
  int untouched;
  p = &untouched;
  STEP("posix_memalign", result = posix_memalign((void **)&q, 256, 100), "%d %d %s", result,
       is_aligned(q, 256) && is_writable(q, 100), word(failed));
  STEP("free", free(q), "%s", word(failed));
  STEP("posix_memalign odd", result = posix_memalign((void **)&p, odd, 100), "%s %d %s", word(result), p == &untouched,
       word(failed));
  STEP("posix_memalign small", result = posix_memalign((void **)&p, 4, 100), "%s %d %s", word(result), p == &untouched,
       word(failed));
  STEP("posix_memalign huge", result = posix_memalign((void **)&p, 64, huge), "%s %d %s", word(result), p == &untouched,
       word(failed));
  STEP("aligned_alloc", p = aligned_alloc(4096, 8192), "%d %s", is_aligned(p, 4096), word(failed));
  STEP("free", free(p), "%s", word(failed));
  STEP("aligned_alloc huge", p = aligned_alloc(64, huge), "%d %s", p == NULL, word(failed));
  STEP("memalign", p = memalign(512, 10), "%d %s", is_aligned(p, 512), word(failed));
  STEP("free", free(p), "%s", word(failed));
  STEP("memalign odd", p = memalign(odd, 10), "%d %s", p && is_aligned(p, 32), word(failed)); /* glibc rounds it up */
  STEP("free", free(p), "%s", word(failed));
  STEP("valloc", p = valloc(10), "%d %s", is_aligned(p, 4096), word(failed));
  STEP("pvalloc", q = pvalloc(10), "%d %s", is_aligned(q, 4096) && malloc_usable_size(q) >= 4096, word(failed));
  STEP("free both", (free(p), free(q)), "%s", word(failed));
  STEP("valloc huge", p = valloc(huge), "%d %s", p == NULL, word(failed));
  STEP("usable of NULL", result = (int)malloc_usable_size(NULL), "%d %s", result, word(failed));
}

void free_sized(void *block, size_t size) __attribute__((weak));
void free_aligned_sized(void *block, size_t align, size_t size) __attribute__((weak));

/* C23's functions, which glibc does not have yet: without a preloaded library they are plain frees, to print the
 * same. */
static void sized(void)
{
  p = malloc(40);
  q = aligned_alloc(64, 128);
  STEP("free_sized", free_sized ? free_sized(p, 40) : free(p), "%s", word(failed));
  STEP("free_aligned_sized", free_aligned_sized ? free_aligned_sized(q, 64, 128) : free(q), "%s", word(failed));
}

int main(void)
{
  simple();
  reallocs();
  aligned();
  sized();
  return 0;
}
