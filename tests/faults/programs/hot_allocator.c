/* hot_allocator.c - a malloc that returns the block that was freed last, to any thread, and moves the block at each
 * realloc
 *
 * It is preloaded after the recorder, so that a time stamp on the wrong side of the real call puts a block's birth
 * before the end of the previous block at that address. libc's allocator keeps freed blocks for the thread that freed
 * them, which hides nearly all such faults.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { SMALL_BYTES = 1024, HEADER_BYTES = 16, REGION_BYTES = 256 << 20 };

struct block {
  size_t size;
  struct block *next; /* while it is free */
};

static _Alignas(16) char region[REGION_BYTES];
static size_t taken;
static struct block *last_freed;
static atomic_flag lock = ATOMIC_FLAG_INIT;

static void acquire(void)
{
  while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire))
    continue;
}

static void release(void)
{
  atomic_flag_clear_explicit(&lock, memory_order_release);
}

static struct block *carve(size_t bytes)
{
  if (bytes > REGION_BYTES - taken)
    return NULL;
  struct block *block = (struct block *)(region + taken);
  taken += bytes;
  return block;
}

/* The functions below call these. Calling one another by name would lead to the recorder. */
static void *give(size_t size)
{
  size_t small = SMALL_BYTES + HEADER_BYTES;
  acquire();
  struct block *block = size <= SMALL_BYTES ? last_freed : NULL;
  if (block)
    last_freed = block->next;
  else
    block = carve(size <= SMALL_BYTES ? small : (size + HEADER_BYTES + 15) & ~(size_t)15);
  release();
  if (!block)
    return NULL;
  block->size = size;
  return (char *)block + HEADER_BYTES;
}

static size_t size_of(const void *memory)
{
  return memory ? ((const struct block *)((const char *)memory - HEADER_BYTES))->size : 0;
}

static void take(void *memory)
{
  if (!memory || size_of(memory) > SMALL_BYTES)
    return;
  struct block *block = (struct block *)((char *)memory - HEADER_BYTES);
  acquire();
  block->next = last_freed;
  last_freed = block;
  release();
}

void *malloc(size_t size)
{
  return give(size);
}

void free(void *memory)
{
  take(memory);
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

void *realloc(void *old, size_t size)
{
  void *block = give(size);
  size_t old_size = size_of(old);
  if (block && old) {
    memcpy(block, old, old_size < size ? old_size : size);
    take(old);
  }
  return block;
}
