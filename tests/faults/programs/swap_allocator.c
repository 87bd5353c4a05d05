/* swap_allocator.c - a malloc whose realloc returns another thread's place to its caller, while that thread takes the
 * caller's
 *
 * It is preloaded after the recorder, so that the moments of a realloc can be distinguished: another block takes the
 * old block's place before the realloc returns, and the returned place was another block's until after the realloc
 * began. There are two places, for blocks of PLACE_BYTES; the program swap.c knows which thread has which place.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

enum { PLACE_BYTES = 4000, HEADER_BYTES = 16, REGION_BYTES = 16 << 20 };

static _Alignas(16) char places[2][PLACE_BYTES];
static _Alignas(16) char region[REGION_BYTES]; /* for all other blocks, which are never reused */
static _Atomic size_t taken;
static _Atomic(void *) empty_place = places[0];
_Atomic int realloc_is_at_work; /* swap.c looks it up by name */

static int is_place(const void *memory)
{
  return memory == places[0] || memory == places[1];
}

/* The functions below call these. Calling one another by name would lead to the recorder. */
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

/* For one of the two places: the other thread frees the other place and allocates this one meanwhile. */
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
