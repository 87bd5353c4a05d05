/* my_allocator.c - maps pages for each block: the simplest allocator that returns memory to the system */
#define _GNU_SOURCE
#include <heapwright/allocator.h>

#include <stdint.h>
#include <sys/mman.h>

enum { PAGE = 4096 };

/* Before each block, in the same page. */
struct header {
  void *mapping;
  size_t mapping_bytes;
};

static struct header *header_of(void *block)
{
  return (struct header *)block - 1;
}

static void *my_alloc(size_t size, size_t align)
{
  if (align < sizeof(struct header))
    align = sizeof(struct header);
  size_t bytes = (size + align + sizeof(struct header) + PAGE - 1) & ~(size_t)(PAGE - 1);
  char *mapping = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED)
    return NULL;
  uintptr_t block = ((uintptr_t)mapping + sizeof(struct header) + align - 1) & ~(uintptr_t)(align - 1);
  *header_of((void *)block) = (struct header){mapping, bytes};
  return (void *)block;
}

static void my_free(void *block)
{
  struct header header = *header_of(block);
  munmap(header.mapping, header.mapping_bytes);
}

static size_t my_usable_size(void *block)
{
  struct header *header = header_of(block);
  return header->mapping_bytes - (size_t)((char *)block - (char *)header->mapping);
}

static void *my_alloc_zeroed(size_t size, size_t align)
{
  return my_alloc(size, align); /* each block has fresh pages */
}

HEAPWRIGHT_ALLOCATOR(.alloc = my_alloc, .free = my_free, .usable_size = my_usable_size,
                     .alloc_zeroed = my_alloc_zeroed);
