/* swap_allocator.c - a malloc whose realloc gives its caller another thread's place, while that thread takes the caller's
 *
 * Preloaded behind the recorder, so that the moments of a realloc can be told apart: the old block's place is taken by another
 * block before the realloc returns, and what it returns was another block's until after it began. There are two places, for
 * blocks of PLACE_BYTES; the program swap.c knows who has which.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

enum { PLACE_BYTES = 4000, HEADER_BYTES = 16, REGION_BYTES = 16 << 20 };

static _Alignas(16) char places[2][PLACE_BYTES];
static _Alignas(16) char region[REGION_BYTES]; /* for all other blocks, which are never given out again */
static _Atomic size_t taken;
static _Atomic(void *) empty_place = places[0];
_Atomic int realloc_is_at_work; /* swap.c looks it up */

static int is_place(const void *memory)
{
  return memory == places[0] || memory == places[1];
}

/* The functions below call these, not one another by their names, which would lead to the recorder. */
static void *give(size_t size)
{
  if (size == PLACE_BYTES) {
    void *place = atomic_exchange(&empty_place, NULL);
    return place || realloc_is_at_work ? place : places[1];
  }
  size_t bytes = (size + HEADER_BYTES + 15) & ~(size_t)15, at = atomic_fetch_add(&taken, bytes);
  if (at + bytes > REGION_BYTES)
    return NULL;
  *(size_t *)(region + at) = size;
  return region + at + HEADER_BYTES;
}

static size_t size_of(const void *memory)
{
  return !memory ? 0 : is_place(memory) ? PLACE_BYTES : *(const size_t *)((const char *)memory - HEADER_BYTES);
}

void *malloc(size_t size)
{
  return give(size);
}

void free(void *memory)
{
  (void)memory;
}

size_t malloc_usable_size(void *memory)
{
  return size_of(memory);
}

void *calloc(size_t count, size_t size)
{
  size_t bytes;
  void *block = __builtin_mul_overflow(count, size, &bytes) ? NULL : give(bytes);
  return block ? memset(block, 0, bytes) : NULL;
}

/* Of one place: the other thread, which has the other one, frees it and allocates this one meanwhile. */
static void *swap(void *old)
{
  atomic_store(&empty_place, old);
  atomic_store(&realloc_is_at_work, 1);
  while (atomic_load(&realloc_is_at_work))
    continue;
  return old == places[0] ? places[1] : places[0];
}

void *realloc(void *old, size_t size)
{
  if (is_place(old))
    return swap(old);
  void *block = give(size);
  size_t old_size = size_of(old);
  return block && old ? memcpy(block, old, old_size < size ? old_size : size) : block;
}
