/* guard.c - a debugging allocator: each block ends at an inaccessible page
 *
 * If the program accesses memory after a block's end, or a freed block, it is stopped at exactly that instruction. A
 * block takes three pages and two mappings, and a process can have about 65,000 mappings (vm.max_map_count). So this is
 * for programs with up to 30,000 live blocks.
 *
 *   header page | block, moved to the end of its pages | guard page
 */
#include <heapwright/allocator.h>

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, FREED_COUNT = 256 };

/* At the start of the page before the one in which the block begins. */
struct header {
  void *mapping;
  size_t mapping_bytes;
  size_t usable;
};

/* The blocks freed last: their addresses are not reused at once. */
static _Atomic(struct header *) freed[FREED_COUNT];
static atomic_size_t freed_count;

static struct header *header_of(const void *block)
{
  return (struct header *)(((uintptr_t)block & ~(uintptr_t)(PAGE - 1)) - PAGE);
}

static void *guard_alloc(size_t size, size_t align)
{
  size_t usable = (size + align - 1) & ~(align - 1), slack = align > PAGE ? align : 0;
  size_t pages = (usable + PAGE - 1) & ~(size_t)(PAGE - 1), bytes;
  if (__builtin_add_overflow(pages + slack, 2 * PAGE, &bytes))
    return NULL;
  char *mapping = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED)
    return NULL;
  char *end = mapping + PAGE + pages + slack;
  char *block = (char *)((uintptr_t)(end - usable) & ~(uintptr_t)(align - 1));
  if (mprotect(end, PAGE, PROT_NONE) != 0) {
    munmap(mapping, bytes);
    return NULL;
  }
  *header_of(block) = (struct header){mapping, bytes, (size_t)(end - block)};
  return block;
}

/* On a second free of the block its header is inaccessible, so the program is stopped here. */
static void guard_free(void *block)
{
  struct header *header = header_of(block), about = *header;
  mprotect(about.mapping, about.mapping_bytes, PROT_NONE);
  struct header *oldest = atomic_exchange(&freed[atomic_fetch_add(&freed_count, 1) % FREED_COUNT], header);
  if (oldest && mprotect(oldest, PAGE, PROT_READ) == 0)
    munmap(oldest->mapping, oldest->mapping_bytes);
}

static size_t guard_usable_size(void *block)
{
  return header_of(block)->usable;
}

static void *guard_alloc_zeroed(size_t size, size_t align)
{
  return guard_alloc(size, align); /* each block has fresh pages */
}

/* Always moves the block, so that accesses to the old address, and past a smaller size, are caught. */
static void *guard_realloc(void *block, size_t size)
{
  size_t usable = guard_usable_size(block);
  void *moved = guard_alloc(size, _Alignof(max_align_t));
  if (!moved)
    return NULL;
  memcpy(moved, block, usable < size ? usable : size);
  guard_free(block);
  return moved;
}

HEAPWRIGHT_ALLOCATOR(.alloc = guard_alloc, .free = guard_free, .usable_size = guard_usable_size,
                     .alloc_zeroed = guard_alloc_zeroed, .realloc = guard_realloc);
