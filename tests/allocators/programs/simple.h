/* simple.h - the minimum that an allocator needs: blocks from a static array; for C and C++ */
#include <heapwright/allocator.h>

#include <string.h>

static unsigned char simple_arena[64 << 20] __attribute__((aligned(4096)));
static size_t simple_used;

static void *simple_alloc(size_t size, size_t align)
{
  size_t start = (simple_used + 16 + align - 1) & ~(align - 1);
  if (start >= sizeof simple_arena || size > sizeof simple_arena - start)
    return NULL;
  simple_used = start + size;
  memcpy(simple_arena + start - 16, &size, sizeof size);
  return simple_arena + start;
}

static void simple_free(void *block)
{
  (void)block;
}

static size_t simple_usable_size(void *block)
{
  size_t size;
  memcpy(&size, (unsigned char *)block - 16, sizeof size);
  return size;
}
