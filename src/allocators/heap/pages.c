/* pages.c - the pages of an owner: where blocks come from when the fast path has none, and where they go */
#include "allocators/heap/layout.h"

#include <string.h>

struct hwi_page hwi_no_page;

/* --- lists --- */

void hwi_page_list(struct hwi_page *page)
{
  struct hwi_page **head = &page->owner->pages[page->class_index], *first = *head;
  if (first == &hwi_no_page) {
    page->next = page->prev = NULL;
    *head = page;
    return;
  }
  page->prev = first;
  page->next = first->next;
  if (first->next)
    first->next->prev = page;
  first->next = page;
}

void hwi_page_unlist(struct hwi_page *page)
{
  struct hwi_page **head = &page->owner->pages[page->class_index];
  if (page->next)
    page->next->prev = page->prev;
  if (page->prev)
    page->prev->next = page->next;
  else
    *head = page->next ? page->next : &hwi_no_page;
}

bool hwi_page_has_room(const struct hwi_page *page)
{
  return page->free || page->carved_count < page->capacity;
}

static void give_page(struct hwi_page *page)
{
  struct hw_heap *heap = hwi_arena_of(page)->heap;
  hwi_page_unlist(page);
  hwi_word_take(&heap->lock);
  hwi_arena_give(page);
  hwi_word_give(&heap->lock);
}

void hwi_owner_give_empty_pages(struct hwi_owner *owner)
{
  for (size_t i = 0; i < HW_HEAP_MOST_CLASSES; i++)
    for (struct hwi_page *page = owner->pages[i], *next; page && page != &hwi_no_page; page = next) {
      next = page->next;
      if (page->count == 0)
        give_page(page);
    }
}

/* An empty page that is the only one of its class stays: the next block of this class would need a new one. */
void hwi_page_settle(struct hwi_page *page)
{
  if (page->is_full) {
    page->is_full = false;
    page->count = page->capacity - 1;
    hwi_page_list(page);
  }
  if (page->count == 0 && (page->next || page->prev))
    give_page(page);
}

static void set_full(struct hwi_page *page)
{
  hwi_page_unlist(page);
  page->is_full = true;
  page->count = 1;
}

/* --- allocating --- */

/* Links the next blocks of a page, as many as begin in a page of the system, so that memory is touched when it is
 * needed. */
static void carve(struct hwi_page *page)
{
  uint32_t count = HWI_SYSTEM_PAGE_BYTES / page->block_bytes, left = page->capacity - page->carved_count;
  count = count == 0 ? 1 : count < left ? count : left;
  uintptr_t at = hwi_page_start(page) + (size_t)page->carved_count * page->block_bytes;
  page->carved_count += count;
  struct hwi_free_block *first = (struct hwi_free_block *)at, *block = first;
  for (uint32_t i = 1; i < count; i++, block = block->next) {
    block->next = (struct hwi_free_block *)(at + (size_t)i * page->block_bytes);
    block->page = page;
  }
  block->next = NULL;
  block->page = page;
  page->free = first;
}

static unsigned slices_of(size_t block_bytes)
{
  enum { FEWEST_BLOCKS = 16 };
  return HWI_SLICE_BYTES / block_bytes >= FEWEST_BLOCKS ? 1 : HWI_LARGE_PAGE_SLICES;
}

static struct hwi_page *take_slices(struct hw_heap *heap, unsigned count)
{
  hwi_word_take(&heap->lock);
  struct hwi_page *page = hwi_arena_take(heap, count);
  hwi_word_give(&heap->lock);
  return page;
}

static bool add_page(struct hwi_owner *owner, unsigned class_index)
{
  size_t block_bytes = owner->heap->class_bytes[class_index];
  struct hwi_page *page = take_slices(owner->heap, slices_of(block_bytes));
  if (!page)
    return false;
  page->free = page->remote = NULL;
  page->count = page->carved_count = 0;
  page->capacity = (uint32_t)(page->slice_count * HWI_SLICE_BYTES / block_bytes);
  page->block_bytes = (uint32_t)block_bytes;
  page->class_index = (uint8_t)class_index;
  page->is_full = page->is_span = false;
  __atomic_store_n(&page->owner, owner, __ATOMIC_RELEASE);
  hwi_page_list(page);
  return true;
}

/* Makes the first page of the class one that has a free block. Pages without room leave the list. */
static bool find_room(struct hwi_owner *owner, unsigned class_index)
{
  struct hwi_page *page;
  while ((page = owner->pages[class_index]) != &hwi_no_page) {
    if (!page->free && page->carved_count < page->capacity)
      carve(page);
    if (page->free)
      return true;
    set_full(page);
  }
  return false;
}

/* What other threads have freed comes before pages of ended threads, and both before new memory. */
static void *alloc_small(struct hwi_owner *owner, size_t bytes)
{
  unsigned class_index = owner->class_of[(bytes + HW_HEAP_ALIGN - 1) >> HWI_GRANULE_BITS];
  if (!find_room(owner, class_index)) {
    hwi_owner_drain(owner);
    if (!find_room(owner, class_index) && !hwi_owner_adopt_page(owner, class_index) && !add_page(owner, class_index))
      return NULL;
    find_room(owner, class_index);
  }
  return hwi_owner_try_alloc(owner, bytes);
}

/* A span has no owner; whoever frees it gives it back. */
static void *alloc_span(struct hw_heap *heap, size_t bytes)
{
  struct hwi_page *page = take_slices(heap, (unsigned)((bytes + HWI_SLICE_BYTES - 1) >> HWI_SLICE_BITS));
  if (!page)
    return NULL;
  page->free = page->remote = NULL;
  page->count = page->capacity = page->carved_count = 1;
  page->is_full = false;
  page->is_span = true;
  page->block_bytes = (uint32_t)(page->slice_count * HWI_SLICE_BYTES);
  return (void *)hwi_page_start(page);
}

void *hwi_owner_alloc(struct hwi_owner *owner, size_t bytes)
{
  if (bytes <= HW_HEAP_LARGEST_CLASS_BYTES)
    return alloc_small(owner, bytes);
  return bytes <= HWI_SPAN_BYTES ? alloc_span(owner->heap, bytes) : hwi_large_alloc(owner->heap, bytes, HW_HEAP_ALIGN);
}

/* A class fits if its blocks are multiples of the alignment: pages are aligned more than that. */
void *hwi_owner_alloc_aligned(struct hwi_owner *owner, size_t align, size_t bytes)
{
  struct hw_heap *heap = owner->heap;
  if (align <= HW_HEAP_ALIGN)
    return hwi_owner_alloc(owner, bytes);
  if (align > HWI_SLICE_BYTES)
    return hwi_large_alloc(heap, bytes ? bytes : 1, align);
  if (bytes < align)
    bytes = align;
  if (bytes <= HW_HEAP_LARGEST_CLASS_BYTES) {
    unsigned i = owner->class_of[(bytes + HW_HEAP_ALIGN - 1) >> HWI_GRANULE_BITS];
    while (heap->class_bytes[i] & (align - 1))
      i++;
    return alloc_small(owner, heap->class_bytes[i]);
  }
  return bytes <= HWI_SPAN_BYTES ? alloc_span(heap, bytes) : hwi_large_alloc(heap, bytes, align);
}

void *hwi_owner_alloc_zeroed(struct hwi_owner *owner, size_t align, size_t bytes)
{
  void *block = hwi_owner_alloc_aligned(owner, align, bytes);
  if (!block || !hwi_is_in_arena(block))
    return block; /* a mapping of its own is zero */
  const struct hwi_page *page = hwi_slice_of(block);
  if (!page->is_span || !page->is_clean)
    memset(block, 0, bytes);
  return block;
}

/* --- freeing --- */

static struct hwi_page *page_of(struct hw_heap *heap, const void *block, enum hw_heap_fault *fault)
{
  *fault = HW_HEAP_FOREIGN;
  if (!hwi_is_in_arena(block) || hwi_arena_of(block)->heap != heap)
    return NULL;
  *fault = HW_HEAP_NOT_A_BLOCK;
  struct hwi_page *page = hwi_slice_of(block);
  if ((void *)page == (void *)hwi_arena_of(block))
    return NULL;
  page -= page->back;
  size_t off = (uintptr_t)block - hwi_page_start(page);
  if (page->block_bytes == 0 || off % page->block_bytes != 0 || off / page->block_bytes >= page->carved_count)
    return NULL;
  *fault = HW_HEAP_OK;
  return page;
}

/* Another thread may be changing the list, so each link is checked before it is followed. */
static bool is_on(const struct hwi_page *page, const struct hwi_free_block *list, const struct hwi_free_block *block)
{
  uintptr_t start = hwi_page_start(page), bytes = page->slice_count * HWI_SLICE_BYTES;
  for (uint32_t i = 0; i < page->capacity && list; i++) {
    if (list == block)
      return true;
    if ((uintptr_t)list - start > bytes - sizeof *list || (uintptr_t)list % HW_HEAP_ALIGN != 0)
      return false;
    list = __atomic_load_n(&list->next, __ATOMIC_RELAXED);
  }
  return false;
}

static bool is_free(struct hwi_page *page, const struct hwi_free_block *block)
{
  return block->page == page && (is_on(page, __atomic_load_n(&page->free, __ATOMIC_RELAXED), block) ||
                                 is_on(page, __atomic_load_n(&page->remote, __ATOMIC_ACQUIRE), block));
}

static enum hw_heap_fault free_span(struct hw_heap *heap, struct hwi_page *page)
{
  hwi_word_take(&heap->lock);
  bool is_span = page->is_span && page->block_bytes != 0;
  if (is_span)
    hwi_arena_give(page);
  hwi_word_give(&heap->lock);
  return is_span ? HW_HEAP_OK : HW_HEAP_FREED;
}

enum hw_heap_fault hwi_owner_free(struct hw_heap *heap, struct hwi_owner *owner, void *address)
{
  enum hw_heap_fault fault;
  struct hwi_page *page = page_of(heap, address, &fault);
  if (!page)
    return fault == HW_HEAP_FOREIGN && hwi_large_free(heap, address) ? HW_HEAP_OK : fault;
  if (page->is_span)
    return free_span(heap, page);
  struct hwi_free_block *block = address;
  if (is_free(page, block))
    return HW_HEAP_FREED;
  if (!owner || __atomic_load_n(&page->owner, __ATOMIC_ACQUIRE) != owner) {
    hwi_page_push_remote(page, block);
    return HW_HEAP_OK;
  }
  block->next = page->free;
  block->page = page;
  page->free = block;
  if (--page->count == 0)
    hwi_page_settle(page);
  return HW_HEAP_OK;
}

size_t hwi_heap_block_bytes(struct hw_heap *heap, const void *block, enum hw_heap_fault *fault)
{
  size_t bytes;
  const struct hwi_page *page = page_of(heap, block, fault);
  if (page)
    return page->block_bytes;
  if (*fault == HW_HEAP_FOREIGN && (bytes = hwi_large_bytes(heap, block))) {
    *fault = HW_HEAP_OK;
    return bytes;
  }
  return 0;
}
