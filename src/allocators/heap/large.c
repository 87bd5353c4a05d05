/* large.c - blocks of a general heap that have their own mappings, in a hash table by address */
#include "allocators/heap/layout.h"

#include "platform/os.h"
#include "platform/os_heap.h"

enum { FIRST_ROOM = HWI_SYSTEM_PAGE_BYTES / sizeof(struct hwi_large_block) };

static size_t page_up(size_t bytes)
{
  return (bytes + HWI_SYSTEM_PAGE_BYTES - 1) & ~(size_t)(HWI_SYSTEM_PAGE_BYTES - 1);
}

static size_t home_of(const struct hw_heap *heap, uintptr_t start)
{
  return (size_t)((start / HWI_SYSTEM_PAGE_BYTES * (uint64_t)0x9e3779b97f4a7c15u) >> 20) & (heap->large_room - 1);
}

/* Returns the entry of the address, or the unused one where it belongs. There always is an unused one. */
static struct hwi_large_block *entry_of(const struct hw_heap *heap, uintptr_t start)
{
  size_t i = home_of(heap, start);
  while (heap->large[i].start && heap->large[i].start != start)
    i = (i + 1) & (heap->large_room - 1);
  return &heap->large[i];
}

/* At most half of the entries are used. */
static bool make_room(struct hw_heap *heap)
{
  if (2 * (heap->large_count + 1) <= heap->large_room)
    return true;
  struct hwi_large_block *old = heap->large;
  size_t old_room = heap->large_room, room = old_room ? 2 * old_room : FIRST_ROOM;
  struct hwi_large_block *made = hwi_os_map(room * sizeof *made);
  if (!made)
    return false;
  heap->large = made;
  heap->large_room = room;
  for (size_t i = 0; i < old_room; i++)
    if (old[i].start)
      *entry_of(heap, old[i].start) = old[i];
  if (old)
    hwi_os_unmap(old, old_room * sizeof *old);
  return true;
}

static void add(struct hw_heap *heap, uintptr_t start, size_t bytes)
{
  *entry_of(heap, start) = (struct hwi_large_block){start, bytes};
  heap->large_count++;
  heap->large_bytes += bytes;
  hwi_heap_count_mapped(heap, bytes);
}

/* The entries that follow move into the gap if they would not be found otherwise. */
static void take_out(struct hw_heap *heap, struct hwi_large_block *entry)
{
  heap->large_count--;
  heap->large_bytes -= entry->bytes;
  heap->mapped_bytes -= entry->bytes;
  size_t mask = heap->large_room - 1, gap = (size_t)(entry - heap->large);
  for (size_t i = (gap + 1) & mask; heap->large[i].start; i = (i + 1) & mask)
    if (((i - home_of(heap, heap->large[i].start)) & mask) >= ((i - gap) & mask)) {
      heap->large[gap] = heap->large[i];
      gap = i;
    }
  heap->large[gap].start = 0;
}

static struct hwi_large_block *existing(const struct hw_heap *heap, const void *block)
{
  struct hwi_large_block *entry = heap->large_room ? entry_of(heap, (uintptr_t)block) : NULL;
  return entry && block && entry->start ? entry : NULL;
}

/* What is mapped before and after the aligned part is unmapped. */
static uintptr_t map_aligned(size_t bytes, size_t align)
{
  size_t extra = align > HWI_SYSTEM_PAGE_BYTES ? align - HWI_SYSTEM_PAGE_BYTES : 0, total;
  if (__builtin_add_overflow(bytes, extra, &total))
    return 0;
  uintptr_t start = (uintptr_t)hwi_os_map(total);
  if (!start || !extra)
    return start;
  uintptr_t block = (start + align - 1) & ~(align - 1);
  if (block > start)
    hwi_os_unmap((void *)start, block - start);
  if (start + total > block + bytes)
    hwi_os_unmap((void *)(block + bytes), start + total - block - bytes);
  return block;
}

void *hwi_large_alloc(struct hw_heap *heap, size_t bytes, size_t align)
{
  if (bytes > PTRDIFF_MAX - HWI_SYSTEM_PAGE_BYTES)
    return NULL;
  bytes = page_up(bytes);
  uintptr_t start = map_aligned(bytes, align);
  if (!start)
    return NULL;
  hwi_word_take(&heap->lock);
  bool has_room = make_room(heap);
  if (has_room)
    add(heap, start, bytes);
  hwi_word_give(&heap->lock);
  if (!has_room)
    hwi_os_unmap((void *)start, bytes);
  return has_room ? (void *)start : NULL;
}

size_t hwi_large_bytes(struct hw_heap *heap, const void *block)
{
  hwi_word_take(&heap->lock);
  struct hwi_large_block *entry = existing(heap, block);
  size_t bytes = entry ? entry->bytes : 0;
  hwi_word_give(&heap->lock);
  return bytes;
}

bool hwi_large_free(struct hw_heap *heap, void *block)
{
  hwi_word_take(&heap->lock);
  struct hwi_large_block *entry = existing(heap, block);
  size_t bytes = entry ? entry->bytes : 0;
  if (entry)
    take_out(heap, entry);
  hwi_word_give(&heap->lock);
  if (bytes)
    hwi_os_unmap(block, bytes);
  return bytes != 0;
}

/* The kernel moves the pages; nothing is copied. The lock is held meanwhile: the old address may be mapped again at
 * once. */
void *hwi_large_resize(struct hw_heap *heap, void *block, size_t bytes)
{
  if (bytes > PTRDIFF_MAX - HWI_SYSTEM_PAGE_BYTES)
    return NULL;
  bytes = page_up(bytes);
  hwi_word_take(&heap->lock);
  struct hwi_large_block *entry = existing(heap, block);
  void *moved = entry ? hwi_os_remap(block, entry->bytes, bytes) : NULL;
  if (moved) {
    take_out(heap, entry);
    add(heap, (uintptr_t)moved, bytes);
  }
  hwi_word_give(&heap->lock);
  return moved;
}

void hwi_large_unmap_all(struct hw_heap *heap)
{
  for (size_t i = 0; i < heap->large_room; i++)
    if (heap->large[i].start)
      hwi_os_unmap((void *)heap->large[i].start, heap->large[i].bytes);
  if (heap->large)
    hwi_os_unmap(heap->large, heap->large_room * sizeof *heap->large);
}
