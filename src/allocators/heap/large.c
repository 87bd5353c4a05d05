/* large.c - blocks of a general heap that are too large for an arena: each has its own mapping, at the start of a unit
 *
 * A freed block is kept mapped for a short time (arenas.c), and given out again if a request is nearly as large.
 */
#include "allocators/heap/layout.h"

#include "platform/os.h"

enum {
  MOST_CACHED = 16,
  MOST_CACHED_BYTES = 16 << 20, /* of one block */
  WASTE_PART = 4,               /* a cached block may be larger than a request by this part of it */
};

static size_t page_up(size_t bytes)
{
  return (bytes + HWI_SYSTEM_PAGE_BYTES - 1) & ~(size_t)(HWI_SYSTEM_PAGE_BYTES - 1);
}

static void link_to(struct hwi_page **list, struct hwi_page *page)
{
  page->prev = NULL;
  page->next = *list;
  if (*list)
    (*list)->prev = page;
  *list = page;
}

static void unlink_from(struct hwi_page **list, struct hwi_page *page)
{
  if (page->next)
    page->next->prev = page->prev;
  if (page->prev)
    page->prev->next = page->next;
  else
    *list = page->next;
}

static void begin(struct hw_heap *heap, struct hwi_page *page, size_t bytes)
{
  page->kind = HWI_PAGE_LARGE;
  page->back = 0;
  page->block_bytes = bytes;
  page->unit.heap = heap;
  heap->large_bytes += bytes;
  hwi_heap_count_page(heap, HW_HEAP_MOST_CLASSES, true);
  link_to(&heap->large, page);
}

static void end(struct hw_heap *heap, struct hwi_page *page)
{
  unlink_from(&heap->large, page);
  heap->large_bytes -= page->block_bytes;
  hwi_heap_count_page(heap, HW_HEAP_MOST_CLASSES, false);
  page->kind = HWI_PAGE_NONE;
}

/* Returns the smallest cached block that is large enough. */
static struct hwi_page *find_cached(struct hw_heap *heap, size_t bytes, size_t align)
{
  struct hwi_page *best = NULL;
  for (struct hwi_page *page = heap->cached; page; page = page->next)
    if (page->block_bytes >= bytes && page->block_bytes - bytes <= bytes / WASTE_PART &&
        !(hwi_page_start(page) & (align - 1)) && (!best || page->block_bytes < best->block_bytes))
      best = page;
  return best;
}

static void take_cached(struct hw_heap *heap, struct hwi_page *page)
{
  unlink_from(&heap->cached, page);
  hwi_heap_take_kept(heap, page->block_bytes);
  page->is_clean = false;
  begin(heap, page, page->block_bytes);
}

void *hwi_large_alloc(struct hw_heap *heap, size_t bytes, size_t align)
{
  if (bytes > PTRDIFF_MAX - HWI_SYSTEM_PAGE_BYTES)
    return NULL;
  bytes = page_up(bytes);
  struct hwi_page *page = find_cached(heap, bytes, align);
  if (page) {
    take_cached(heap, page);
    return (void *)hwi_page_start(page);
  }
  uintptr_t start = hwi_heap_map_large(heap, bytes, align);
  if (!start)
    return NULL;
  page = hwi_slice_of((void *)start);
  page->is_clean = true;
  begin(heap, page, bytes);
  hwi_heap_count_mapped(heap, bytes);
  return (void *)start;
}

static void unmap(struct hw_heap *heap, struct hwi_page *page)
{
  heap->mapped_bytes -= page->block_bytes;
  page->unit = (struct hwi_unit){0};
  hwi_space_give(hwi_page_start(page), page->block_bytes);
}

static void drop_oldest(struct hw_heap *heap)
{
  struct hwi_page *page = heap->cached;
  while (page->next)
    page = page->next;
  unlink_from(&heap->cached, page);
  heap->kept_bytes -= page->block_bytes;
  unmap(heap, page);
}

void hwi_large_drop_cached(struct hw_heap *heap, size_t most_kept_bytes)
{
  while (heap->cached && heap->kept_bytes > most_kept_bytes)
    drop_oldest(heap);
}

void hwi_large_free(struct hw_heap *heap, struct hwi_page *page)
{
  end(heap, page);
  if (page->block_bytes > MOST_CACHED_BYTES) {
    unmap(heap, page);
    return;
  }
  link_to(&heap->cached, page);
  heap->kept_bytes += page->block_bytes;
  size_t count = 0;
  for (const struct hwi_page *cached = heap->cached; cached; cached = cached->next)
    count++;
  if (count > MOST_CACHED)
    drop_oldest(heap);
  hwi_heap_pass_by(heap);
}

/* The kernel moves the pages; nothing is copied. */
void *hwi_large_resize(struct hw_heap *heap, struct hwi_page *page, size_t bytes)
{
  if (bytes > PTRDIFF_MAX - HWI_SYSTEM_PAGE_BYTES)
    return NULL;
  bytes = page_up(bytes);
  size_t old_bytes = page->block_bytes;
  uintptr_t start = hwi_space_resize(hwi_page_start(page), old_bytes, bytes);
  if (!start)
    return NULL;
  end(heap, page);
  page->unit = (struct hwi_unit){0};
  heap->mapped_bytes -= old_bytes;
  hwi_heap_count_mapped(heap, bytes);
  page = hwi_slice_of((void *)start);
  page->is_clean = false;
  begin(heap, page, bytes);
  if (bytes > old_bytes)
    hwi_heap_make_present(heap, start + old_bytes, bytes - old_bytes);
  return (void *)start;
}

void hwi_large_unmap_all(struct hw_heap *heap)
{
  hwi_large_drop_cached(heap, 0);
  while (heap->large) {
    struct hwi_page *page = heap->large;
    end(heap, page);
    unmap(heap, page);
  }
}
