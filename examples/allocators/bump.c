/* bump.c - the simplest allocator: an address that only rises
 *
 * For programs that end soon: memory is never reused, an allocation is one atomic addition, and a free costs nothing.
 * The address space is reserved at the start and gets memory as it is touched.
 */
#include <heapwright/allocator.h>

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

static const size_t RESERVED_BYTES[] = {(size_t)1 << 40, (size_t)1 << 36, (size_t)1 << 32, (size_t)1 << 28};

/* Before each block. */
struct header {
  size_t size;
  size_t unused; /* so that the block after it is aligned to 16 */
};

static uintptr_t begin, end; /* the reserved addresses; both are 0 if there are none */
static atomic_uintptr_t mark;

static void bump_init(void)
{
  for (size_t i = 0; i < sizeof RESERVED_BYTES / sizeof *RESERVED_BYTES && !end; i++) {
    void *start =
        mmap(NULL, RESERVED_BYTES[i], PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start != MAP_FAILED) {
      begin = (uintptr_t)start;
      end = begin + RESERVED_BYTES[i];
      atomic_store(&mark, begin);
    }
  }
}

static struct header *header_of(void *block)
{
  return (struct header *)block - 1;
}

static void *bump_alloc(size_t size, size_t align)
{
  if (align < sizeof(struct header))
    align = sizeof(struct header);
  uintptr_t before = atomic_load_explicit(&mark, memory_order_relaxed), block;
  do {
    block = (before + sizeof(struct header) + align - 1) & ~(uintptr_t)(align - 1);
    if (block >= end || size > end - block)
      return NULL;
  } while (
      !atomic_compare_exchange_weak_explicit(&mark, &before, block + size, memory_order_relaxed, memory_order_relaxed));
  header_of((void *)block)->size = size;
  return (void *)block;
}

static void bump_free(void *block)
{
  (void)block;
}

static size_t bump_usable_size(void *block)
{
  return header_of(block)->size;
}

/* The last block grows in place. */
static void *bump_realloc(void *block, size_t size)
{
  size_t old_size = header_of(block)->size;
  uintptr_t old_end = (uintptr_t)block + old_size, new_end = (uintptr_t)block + size;
  bool is_last = size <= end - (uintptr_t)block && atomic_compare_exchange_strong(&mark, &old_end, new_end);
  if (is_last || size <= old_size) {
    if (is_last)
      header_of(block)->size = size;
    return block;
  }
  void *moved = bump_alloc(size, sizeof(struct header));
  return moved ? memcpy(moved, block, old_size) : NULL;
}

static bool bump_owns(const void *address)
{
  return (uintptr_t)address - begin < end - begin;
}

static void bump_stats(struct hw_allocator_stats *stats)
{
  stats->used_bytes = stats->system_bytes = atomic_load(&mark) - begin;
}

HEAPWRIGHT_ALLOCATOR(.alloc = bump_alloc, .free = bump_free, .usable_size = bump_usable_size, .realloc = bump_realloc,
                     .owns = bump_owns, .init = bump_init, .stats = bump_stats);
