/* large.c - blocks of a general heap that are too large for an arena: each has its own mapping, at the start of a unit
 *
 * A freed block is kept mapped as long as returns.c says, and given out again for a request that needs no more units.
 */
#include "allocators/heap/space.h"

#include "platform/os.h"

enum {
  MOST_CACHED = 16,
  MOST_CACHED_UNTIL_COLLECT = 64, /* of a heap that returns nothing before */
};

/* With huge pages, the length of a block above 2 MiB is a multiple of them: no part of it then needs small pages, and
 * a request of nearly the same size needs no system call. */
size_t hwi_large_length(const struct hw_heap *heap, size_t bytes)
{
  bool is_huge = bytes > HWI_SPAN_BYTES && hwi_config_wants_huge_pages(&heap->config);
  size_t unit = is_huge ? HWI_HUGE_PAGE_BYTES : HWI_SYSTEM_PAGE_BYTES;
  return (bytes + unit - 1) & ~(unit - 1);
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
  page->back = 0;
  page->block_bytes = bytes;
  hwi_unit_set_heap(page, heap);
  hwi_page_set_kind(page, HWI_PAGE_LARGE);
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

/* Returns the cached block whose size is the nearest one, of those that need no more units; NULL if there is none. */
static struct hwi_page *find_cached(struct hw_heap *heap, size_t bytes, size_t align)
{
  struct hwi_page *best = NULL;
  size_t least = SIZE_MAX;
  for (struct hwi_page *page = heap->cached; page; page = page->next) {
    size_t has = page->block_bytes, difference = has > bytes ? has - bytes : bytes - has;
    if (difference < least && bytes <= hwi_units_up(has) && !(hwi_page_start(page) & (align - 1))) {
      best = page;
      least = difference;
    }
  }
  return best;
}

static bool returns_nothing(const struct hw_heap *heap)
{
  return heap->config.returns == HW_HEAP_RETURNS_ON_COLLECT;
}

bool hwi_large_stays(const struct hw_heap *heap, size_t has, size_t bytes)
{
  return has >= bytes && bytes > HWI_SPAN_BYTES && returns_nothing(heap) && hwi_units_up(has) == hwi_units_up(bytes);
}

/* Returns whether a block is given out for a request as it is: if it is at most 1 MiB or a quarter larger; but at
 * most a half, if it is one of less than 2 MiB, which only its alignment made a large block. */
static bool is_near(const struct hw_heap *heap, size_t has, size_t bytes)
{
  enum { MORE_BYTES = 1 << 20 };
  size_t more = bytes / 2 < MORE_BYTES ? bytes / 2 : bytes / 4 > MORE_BYTES ? bytes / 4 : MORE_BYTES;
  return (has >= bytes && has - bytes <= more) || hwi_large_stays(heap, has, bytes);
}

/* If the sizes differ much, the block is made longer or shorter: what is in memory of it stays there. Returns NULL if
 * there is no memory for that. */
static void *take_cached(struct hw_heap *heap, struct hwi_page *page, size_t bytes, size_t align, size_t *new_bytes)
{
  void *block = (void *)hwi_page_start(page), *resized = NULL;
  bool is_enough = page->block_bytes >= bytes;
  unlink_from(&heap->cached, page);
  hwi_heap_count_taken(heap, page->block_bytes, 0);
  page->is_clean = false;
  begin(heap, page, page->block_bytes);
  if (is_near(heap, page->block_bytes, bytes))
    return block;
  resized = hwi_large_resize(heap, page, bytes, align <= HWI_UNIT_BYTES, new_bytes);
  if (resized || is_enough)
    return resized ? resized : block;
  hwi_large_free(heap, page);
  return NULL;
}

void *hwi_large_alloc(struct hw_heap *heap, size_t bytes, size_t align, size_t *new_bytes)
{
  if (!hwi_space_can_have(bytes))
    return NULL;
  bytes = hwi_large_length(heap, bytes);
  *new_bytes = 0;
  struct hwi_page *page = find_cached(heap, bytes, align);
  void *block = page ? take_cached(heap, page, bytes, align, new_bytes) : NULL;
  if (block)
    return block;
  uintptr_t start = hwi_heap_map_large(heap, bytes, align);
  if (!start)
    return NULL;
  page = hwi_slice_of((void *)start);
  page->is_clean = true;
  begin(heap, page, bytes);
  hwi_heap_count_mapped(heap, bytes);
  hwi_heap_count_taken(heap, 0, bytes);
  *new_bytes = bytes;
  return (void *)start;
}

static void unmap(struct hw_heap *heap, struct hwi_page *page)
{
  heap->mapped_bytes -= page->block_bytes;
  hwi_unit_set_heap(page, NULL);
  hwi_heap_unmap_later(heap, page);
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
  link_to(&heap->cached, page);
  heap->kept_bytes += page->block_bytes;
  size_t count = 0;
  for (const struct hwi_page *cached = heap->cached; cached; cached = cached->next)
    count++;
  if (count > (returns_nothing(heap) ? MOST_CACHED_UNTIL_COLLECT : MOST_CACHED))
    drop_oldest(heap);
  hwi_heap_pass_by(heap);
}

/* The kernel moves the pages; nothing is copied. */
void *hwi_large_resize(struct hw_heap *heap, struct hwi_page *page, size_t bytes, bool may_move, size_t *new_bytes)
{
  if (!hwi_space_can_have(bytes))
    return NULL;
  bytes = hwi_large_length(heap, bytes);
  size_t old_bytes = page->block_bytes;
  *new_bytes = 0;
  if (bytes == old_bytes)
    return (void *)hwi_page_start(page);
  uintptr_t old_start = hwi_page_start(page), start = hwi_space_resize(old_start, old_bytes, bytes, may_move);
  if (!start)
    return NULL;
  end(heap, page);
  hwi_unit_set_heap(page, NULL);
  heap->mapped_bytes -= old_bytes;
  hwi_heap_count_mapped(heap, bytes);
  hwi_heap_choose_pages_again(heap, start, old_bytes, bytes);
  page = hwi_slice_of((void *)start);
  page->is_clean = false;
  begin(heap, page, bytes);
  if (start != old_start)
    hwi_space_give(old_start, old_bytes);
  else if (hwi_units_up(old_bytes) > hwi_units_up(bytes))
    hwi_space_give(start + hwi_units_up(bytes), hwi_units_up(old_bytes) - hwi_units_up(bytes));
  *new_bytes = bytes > old_bytes ? bytes - old_bytes : 0;
  hwi_heap_count_taken(heap, 0, *new_bytes);
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
