/* instance.c - another library over entries.h: a bump allocator, in the common subset of C17 and C++17
 *
 * It shows that the header is self-contained. Its calloc is written in the way in which a compiler that knows malloc
 * would turn it into a call of itself.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "heapwright/detail/entries.h"

#define ARENA_BYTES ((size_t)64 << 20)

static char arena[ARENA_BYTES] __attribute__((aligned(4096)));
static size_t used;

static void *aligned_block(size_t align, size_t size)
{
  size_t room = size > ARENA_BYTES ? ARENA_BYTES : size;
  size_t at = (__atomic_fetch_add(&used, room + align + 32, __ATOMIC_RELAXED) + 16 + align - 1) & ~(align - 1);
  if (at + room >= ARENA_BYTES) {
    errno = ENOMEM;
    return NULL;
  }
  ((size_t *)(void *)(arena + at))[-1] = size;
  return arena + at;
}

HW_OPERATION void *hw_do_malloc(size_t size)
{
  return aligned_block(16, size);
}

HW_OPERATION void hw_do_free(void *block)
{
  (void)block;
}

HW_OPERATION void *hw_do_calloc(size_t count, size_t size)
{
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes))
    bytes = SIZE_MAX;
  void *block = hw_do_malloc(bytes);
  return block ? memset(block, 0, bytes) : NULL;
}

HW_OPERATION size_t hw_do_malloc_usable_size(void *block)
{
  return block ? ((size_t *)block)[-1] : 0;
}

HW_OPERATION void *hw_do_realloc(void *old, size_t size)
{
  size_t old_size = hw_do_malloc_usable_size(old);
  void *block = aligned_block(16, size);
  return block && old ? memcpy(block, old, old_size < size ? old_size : size) : block;
}

HW_OPERATION void *hw_do_reallocarray(void *old, size_t count, size_t size)
{
  return hw_do_realloc(old, count * size);
}

HW_OPERATION int hw_do_posix_memalign(void **to, size_t align, size_t size)
{
  *to = aligned_block(align, size);
  return *to ? 0 : ENOMEM;
}

HW_OPERATION void *hw_do_aligned_alloc(size_t align, size_t size)
{
  return aligned_block(align, size);
}

HW_OPERATION void *hw_do_memalign(size_t align, size_t size)
{
  return aligned_block(align, size);
}

HW_OPERATION void *hw_do_valloc(size_t size)
{
  return aligned_block(4096, size);
}

HW_OPERATION void *hw_do_pvalloc(size_t size)
{
  return aligned_block(4096, size);
}

HW_OPERATION void hw_do_free_sized(void *block, size_t size)
{
  (void)block, (void)size;
}

HW_OPERATION void hw_do_free_aligned_sized(void *block, size_t align, size_t size)
{
  (void)block, (void)align, (void)size;
}

HW_OPERATION void *hw_do_new(enum hw_entry entry, size_t size)
{
  return aligned_block(16, entry == HW_ENTRY_NEW ? size : size + 1);
}

HW_OPERATION void *hw_do_new_nothrow(enum hw_entry entry, size_t size, const void *tag)
{
  (void)entry, (void)tag;
  return aligned_block(16, size);
}

HW_OPERATION void *hw_do_new_aligned(enum hw_entry entry, size_t size, size_t align)
{
  (void)entry;
  return aligned_block(align, size);
}

HW_OPERATION void *hw_do_new_aligned_nothrow(enum hw_entry entry, size_t size, size_t align, const void *tag)
{
  (void)entry, (void)tag;
  return aligned_block(align, size);
}

HW_OPERATION void hw_do_delete(enum hw_entry entry, void *block)
{
  (void)entry, (void)block;
}

HW_OPERATION void hw_do_delete_nothrow(enum hw_entry entry, void *block, const void *tag)
{
  (void)entry, (void)block, (void)tag;
}

HW_OPERATION void hw_do_delete_sized(enum hw_entry entry, void *block, size_t size)
{
  (void)entry, (void)block, (void)size;
}

HW_OPERATION void hw_do_delete_aligned(enum hw_entry entry, void *block, size_t align)
{
  (void)entry, (void)block, (void)align;
}

HW_OPERATION void hw_do_delete_aligned_nothrow(enum hw_entry entry, void *block, size_t align, const void *tag)
{
  (void)entry, (void)block, (void)align, (void)tag;
}

HW_OPERATION void hw_do_delete_sized_aligned(enum hw_entry entry, void *block, size_t size, size_t align)
{
  (void)entry, (void)block, (void)size, (void)align;
}
