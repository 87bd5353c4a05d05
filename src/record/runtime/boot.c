/* boot.c - blocks for the time before there is a real allocator
 *
 * A region is a range of bytes with a mark that only rises. A block is taken by moving the mark with compare-and-swap,
 * so that a signal or another thread in between costs at most a retry. When no region has room, a new one is mapped and
 * put at the head of the list. If two threads do that at the same time, both regions stay.
 */
#include "record/runtime/boot.h"

#include "platform/os.h"

enum { REGION_BYTES = 1 << 20 };

/* Stored before each block, within its alignment. */
struct block_header {
  size_t size;
};

struct region {
  struct region *next;
  uint8_t *start;
  size_t bytes;
  size_t used; /* invariant: <= bytes; the bytes after it are zero and unused */
};

bool hwi_boot_is_used;

static _Alignas(HWI_BOOT_ALIGN) uint8_t buffer[HWI_BOOT_BUFFER_BYTES];
static size_t buffer_used;
static struct region *mapped_regions;
static uint64_t block_count;

/* Returns the next block of `size` bytes after the mark, or NULL if it does not fit. */
static void *take(uint8_t *start, size_t bytes, size_t *mark, size_t size, size_t align)
{
  size_t used = __atomic_load_n(mark, __ATOMIC_RELAXED);
  uintptr_t block;
  size_t end;
  do {
    block = ((uintptr_t)start + used + sizeof(struct block_header) + align - 1) & ~(align - 1);
    end = block - (uintptr_t)start;
    if (end >= bytes || size > bytes - end) /* an empty block must also have its address within the region */
      return NULL;
    end += size;
  } while (!__atomic_compare_exchange_n(mark, &used, end, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  ((struct block_header *)block)[-1].size = size;
  __atomic_fetch_add(&block_count, 1, __ATOMIC_RELAXED);
  __atomic_store_n(&hwi_boot_is_used, true, __ATOMIC_RELEASE);
  return (void *)block;
}

static struct region *map_region(size_t size, size_t align)
{
  size_t need = sizeof(struct region) + sizeof(struct block_header) + align;
  size_t bytes;
  if (__builtin_add_overflow(size, need, &bytes) || bytes > PTRDIFF_MAX)
    return NULL;
  bytes = bytes < REGION_BYTES ? REGION_BYTES : (bytes + HWI_OS_PAGE_BYTES - 1) & ~(size_t)(HWI_OS_PAGE_BYTES - 1);
  struct region *region = hwi_os_map(bytes);
  if (!region)
    return NULL;
  region->start = (uint8_t *)(region + 1);
  region->bytes = bytes - sizeof *region;
  return region;
}

void *hwi_boot_alloc(size_t size, size_t align)
{
  if (align < HWI_BOOT_ALIGN)
    align = HWI_BOOT_ALIGN;
  void *block = take(buffer, HWI_BOOT_BUFFER_BYTES, &buffer_used, size, align);
  struct region *region = __atomic_load_n(&mapped_regions, __ATOMIC_ACQUIRE);
  if (!block && region)
    block = take(region->start, region->bytes, &region->used, size, align);
  if (block)
    return block;
  region = map_region(size, align);
  if (!region)
    return NULL;
  block = take(region->start, region->bytes, &region->used, size, align); /* fits: no other thread knows it yet */
  region->next = __atomic_load_n(&mapped_regions, __ATOMIC_RELAXED);
  while (
      !__atomic_compare_exchange_n(&mapped_regions, &region->next, region, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
  }
  return block;
}

bool hwi_boot_has(const void *block)
{
  if ((uintptr_t)block - (uintptr_t)buffer < HWI_BOOT_BUFFER_BYTES)
    return true;
  for (struct region *at = __atomic_load_n(&mapped_regions, __ATOMIC_ACQUIRE); at; at = at->next)
    if ((uintptr_t)block - (uintptr_t)at->start < at->bytes)
      return true;
  return false;
}

size_t hwi_boot_size(const void *block)
{
  return ((const struct block_header *)block)[-1].size;
}

uint64_t hwi_boot_block_count(void)
{
  return __atomic_load_n(&block_count, __ATOMIC_RELAXED);
}
