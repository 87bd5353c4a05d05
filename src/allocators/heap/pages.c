/* pages.c - the pages of an owner: where blocks come from when the fast path has none */
#include "allocators/heap/heap_lock.h"

#include <string.h>

#include "platform/os_heap.h"

struct hwi_page hwi_no_page;

/* --- lists --- */

/* Adds a page with room, after the first one of its class. */
static void list_page(struct hwi_page *page)
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

static void unlink_from(struct hwi_page **head, struct hwi_page *page, struct hwi_page *none)
{
  if (page->next)
    page->next->prev = page->prev;
  if (page->prev)
    page->prev->next = page->next;
  else
    *head = page->next ? page->next : none;
}

/* Returns whether blocks are taken from the first page one by one, so that it has a count. If each free is checked,
 * blocks are not given out again at once. */
static bool counts_each(const struct hwi_owner *owner, size_t class_index)
{
  return hwi_owner_shares_spares(owner, class_index) && !owner->heap->config.check_all_frees;
}

/* An empty page is used, or leaves the owner's list. */
static void end_spare(struct hwi_page *page)
{
  if (page->is_spare && hwi_owner_shares_spares(page->owner, page->class_index))
    page->owner->shared_bytes -= hwi_page_touched_bytes(page);
  else if (page->is_spare)
    page->owner->spare_counts[page->class_index]--;
  page->is_spare = page->was_empty = false;
}

static void unlist_page(struct hwi_page *page)
{
  end_spare(page);
  unlink_from(&page->owner->pages[page->class_index], page, &hwi_no_page);
}

/* Adds a page without room. */
static void list_full(struct hwi_page *page)
{
  struct hwi_owner *owner = page->owner;
  page->prev = NULL;
  page->next = owner->full;
  if (owner->full)
    owner->full->prev = page;
  owner->full = page;
}

/* Other threads read the number, to see whether they want to have the pages. */
static void count_page(struct hwi_owner *owner, int change)
{
  __atomic_store_n(&owner->page_count, owner->page_count + (size_t)change, __ATOMIC_RELAXED);
}

void hwi_page_move(struct hwi_page *page, struct hwi_owner *owner)
{
  page->is_full ? unlink_from(&page->owner->full, page, NULL) : unlist_page(page);
  count_page(page->owner, -1);
  count_page(owner, 1);
  __atomic_store_n(&page->owner, owner, __ATOMIC_RELEASE);
  __atomic_store_n(&page->thread, owner->thread, __ATOMIC_RELAXED);
  page->is_full ? list_full(page) : list_page(page);
}

void hwi_page_leave_owner(struct hwi_page *page)
{
  unlist_page(page);
  count_page(page->owner, -1);
}

bool hwi_page_has_room(const struct hwi_page *page)
{
  return page->free || page->carved_count < page->capacity;
}

/* --- the owner's list --- */

void hwi_owner_use_own_list(struct hwi_owner *owner, size_t class_index)
{
  struct hwi_free_block **own = &owner->own_lists[class_index];
  struct hwi_page *page = owner->pages[class_index];
  if (owner->lists[class_index] == own)
    return;
  *own = page->free;
  page->free = NULL;
  page->count = page->carved_count;
  __atomic_store_n(&owner->lists[class_index], own, __ATOMIC_RELEASE);
}

/* The count is not that of the blocks from now on, and not that of a page at which the thread has looked. If each free
 * is checked, blocks are not given out again at once, so that a second free of them is found. */
static void use_list_of(struct hwi_page *page)
{
  struct hwi_owner *owner = page->owner;
  __atomic_store_n(&owner->lists[page->class_index], &page->free, __ATOMIC_RELAXED);
  __atomic_store_n(&page->count, HWI_FEWEST_FREES_UNTIL_ASK - 1u, __ATOMIC_RELEASE);
  if (owner->heap->config.check_all_frees)
    hwi_owner_use_own_list(owner, page->class_index);
}

/* --- full pages --- */

static void set_full(struct hwi_page *page)
{
  unlist_page(page);
  list_full(page);
  page->is_full = true;
  __atomic_store_n(&page->count, 1, __ATOMIC_RELEASE); /* a fork may come between the two */
}

void hwi_page_end_full(struct hwi_page *page)
{
  unlink_from(&page->owner->full, page, NULL);
  page->count = page->capacity;
  __atomic_store_n(&page->is_full, false, __ATOMIC_RELEASE); /* as above */
  list_page(page);
}

/* --- allocating --- */

/* New blocks are from `start` to `end`. If they reach the next two pages of the system, these are touched at once,
 * which takes less time than one after the other. */
static void touch_ahead(uintptr_t start, uintptr_t end)
{
  enum { STEP_BYTES = 2 * HWI_SYSTEM_PAGE_BYTES };
  uintptr_t step = (end - 1) & ~(uintptr_t)(STEP_BYTES - 1);
  if (step >= start)
    hwi_os_touch_ahead((void *)step, STEP_BYTES);
}

/* Links the next blocks of a page and adds them to its list, as many as begin in a page of the system, so that memory
 * is touched when it is needed. */
static void carve(struct hwi_page *page)
{
  typedef uintptr_t block_words __attribute__((vector_size(sizeof(struct hwi_free_block)), may_alias));
  uint32_t carved = page->carved_count, left = page->capacity - carved;
  uint32_t count = (uint32_t)(HWI_SYSTEM_PAGE_BYTES / page->block_bytes);
  count = count == 0 ? 1 : count < left ? count : left;
  size_t bytes = page->block_bytes;
  uintptr_t first = hwi_page_start(page) + (size_t)carved * bytes, last = first + (size_t)(count - 1) * bytes;
  if (page->touches_ahead)
    touch_ahead(first, last + bytes);
  __atomic_store_n(&page->carved_count, carved + count, __ATOMIC_RELAXED);
  block_words block = {first + bytes, (uintptr_t)page}, step = {bytes, 0}; /* `next` and `page`, in one store */
  for (uintptr_t at = first; at != last; at += bytes, block += step)
    *(block_words *)at = block;
  *(struct hwi_free_block *)last = (struct hwi_free_block){page->free, page};
  page->free = (struct hwi_free_block *)first;
}

/* Takes a page of a class, or, for HW_HEAP_MOST_CLASSES, a span. */
static struct hwi_page *take_slices(struct hw_heap *heap, size_t class_index, size_t count)
{
  struct hwi_page *page;
  bool is_coming;
  do {
    enum hwi_lock_result result = hwi_heap_enter(heap);
    if (result == HWI_LOCK_CLOSED)
      return NULL;
    page = hwi_arena_take(heap, (unsigned)count, &is_coming);
    if (page)
      hwi_heap_count_page(heap, class_index, true);
    if (is_coming) /* a central heap stays locked */
      hwi_heap_unlock_and_settle(heap, result);
    else
      hwi_heap_leave(heap, result);
  } while (!page && is_coming);
  return page;
}

/* For a new page of a class. Only if the page that the thread filled last is of the class, too, since it may use little
 * of the first page of each class; and only if each page of the system has the beginning of a block: programs may
 * hardly write to long ones. */
static bool is_to_touch_ahead(const struct hwi_page *page, const struct hwi_owner *owner, unsigned class_index)
{
  const struct hw_heap *heap = owner->heap;
  return page->is_clean && owner->full && owner->full->class_index == class_index &&
         heap->class_bytes[class_index] <= HWI_SYSTEM_PAGE_BYTES && !hwi_config_makes_present(&heap->config) &&
         !hwi_config_wants_huge_pages(&heap->config) && hwi_huge_pages_of(hwi_unit_of(page)) != HWI_GETS_HUGE;
}

static bool add_page(struct hwi_owner *owner, unsigned class_index)
{
  size_t block_bytes = owner->heap->class_bytes[class_index];
  struct hwi_page *page = take_slices(owner->heap, class_index, owner->heap->page_bytes[class_index] >> HWI_SLICE_BITS);
  if (!page)
    return false;
  size_t granules = block_bytes >> HWI_GRANULE_BITS;
  page->free = NULL;
  page->remote = 0;
  page->count = page->carved_count = 0;
  page->capacity = hwi_page_capacity(owner->heap, page->slice_count * HWI_SLICE_BYTES, block_bytes);
  page->reciprocal = (uint32_t)((((uint64_t)1 << HWI_RECIPROCAL_BITS) + granules - 1) / granules);
  page->block_bytes = block_bytes;
  page->class_index = (uint8_t)class_index;
  page->is_full = page->is_spare = page->was_empty = false;
  page->has_asked = false;
  page->touches_ahead = is_to_touch_ahead(page, owner, class_index);
  if (owner->heap->config.check_all_frees)
    hwi_given_begin(page);
  hwi_page_set_kind(page, HWI_PAGE_SMALL);
  count_page(owner, 1);
  __atomic_store_n(&page->owner, owner, __ATOMIC_RELEASE);
  __atomic_store_n(&page->thread, owner->thread, __ATOMIC_RELAXED);
  list_page(page);
  return true;
}

/* The second page of a class becomes the first one. */
static void swap_first(struct hwi_page **head)
{
  struct hwi_page *first = *head, *second = first->next;
  first->next = second->next;
  if (first->next)
    first->next->prev = first;
  first->prev = second;
  second->next = first;
  second->prev = NULL;
  *head = second;
}

/* A short list would soon need the next one: memory is touched instead, as long as a page has few free blocks. */
static bool has_enough_free(const struct hwi_page *page)
{
  enum { PART = 8 };
  return page->free &&
         (counts_each(page->owner, page->class_index) || page->carved_count - page->count >= page->carved_count / PART);
}

/* Returns whether the memory of the page was used before, at least a part of it. What other threads have freed comes
 * first. */
static bool may_carve_now(const struct hwi_page *page)
{
  return !page->is_clean && !hwi_owner_has_to_drain(page->owner);
}

/* The owner's list is empty: that of the first page with room is used, or the page itself. A page of which nothing was
 * touched before it was taken is used only if `may_touch`, but for what it has free. Pages without room leave the list
 * of pages. */
static bool find_room(struct hwi_owner *owner, unsigned class_index, bool may_touch)
{
  struct hwi_page *page;
  hwi_owner_use_own_list(owner, class_index);
  while ((page = owner->pages[class_index]) != &hwi_no_page) {
    if (page->carved_count < page->capacity && !has_enough_free(page)) {
      if (page->next && has_enough_free(page->next)) {
        swap_first(&owner->pages[class_index]);
        continue;
      }
      if (!may_touch && !may_carve_now(page))
        return false;
      carve(page);
    }
    end_spare(page);
    if (page->free) {
      if (!counts_each(owner, class_index))
        use_list_of(page);
      hwi_owner_reset_kept(owner, class_index);
      return true;
    }
    set_full(page);
  }
  return false;
}

static unsigned class_of(const struct hwi_owner *owner, size_t bytes)
{
  return owner->heap->class_of[(bytes + HW_HEAP_ALIGN - 1) >> HWI_GRANULE_BITS];
}

/* From the owner's list, or, if the class counts each block, from the first page. */
static void *take_first(struct hwi_owner *owner, unsigned class_index)
{
  struct hwi_free_block **list = owner->lists[class_index], *block = *list;
  if (!block) {
    struct hwi_page *page = owner->pages[class_index];
    end_spare(page);
    if (owner->kept_left[class_index] < owner->most_kept[class_index])
      hwi_owner_reset_kept(owner, class_index);
    list = &page->free;
    block = *list;
    page->count++;
  }
  *list = block->next;
  block->page = NULL;
  if (owner->heap->config.check_all_frees)
    hwi_given_add(hwi_page_of(block), block);
  return block;
}

/* Returns NULL if nothing is free in the pages of the owner, and nothing of the next memory was used before. */
static void *alloc_touched(struct hwi_owner *owner, unsigned class_index)
{
  bool has_some = *owner->lists[class_index] || (counts_each(owner, class_index) && owner->pages[class_index]->free);
  return has_some || find_room(owner, class_index, false) ? take_first(owner, class_index) : NULL;
}

/* What other threads have freed comes before memory that is not touched yet, and pages of ended threads before new
 * ones. */
static void *alloc_small(struct hwi_owner *owner, unsigned class_index)
{
  void *block = alloc_touched(owner, class_index);
  if (block)
    return block;
  bool has_others = !owner->heap->sole;
  if (owner->has_left_over)
    hwi_owner_give_left_over(owner);
  hwi_owner_pass_by(owner);
  if (has_others)
    hwi_owner_drain_if_needed(owner);
  if (!find_room(owner, class_index, true)) {
    if (!(has_others && hwi_owner_adopt_page(owner, class_index)) && !add_page(owner, class_index))
      return NULL;
    find_room(owner, class_index, true);
  }
  return take_first(owner, class_index);
}

void *hwi_owner_alloc_own(struct hwi_owner *owner, size_t bytes)
{
  return alloc_touched(owner, class_of(owner, bytes));
}

/* A span has no owner; the thread that frees it gives it back. */
static void *alloc_span(struct hw_heap *heap, size_t bytes)
{
  struct hwi_page *page = take_slices(heap, HW_HEAP_MOST_CLASSES, hwi_slices_for(bytes));
  if (!page)
    return NULL;
  page->has_room = false;
  page->block_bytes = page->slice_count * HWI_SLICE_BYTES;
  hwi_page_set_kind(page, HWI_PAGE_SPAN);
  return (void *)hwi_page_start(page);
}

static void *alloc_large(struct hw_heap *heap, size_t bytes, size_t align)
{
  enum hwi_lock_result result = hwi_heap_enter(heap);
  if (result == HWI_LOCK_CLOSED)
    return NULL;
  size_t new_bytes;
  char *block = (char *)hwi_large_alloc(heap, bytes, align, &new_bytes);
  char *end = block ? block + hwi_slice_of(block)->block_bytes : NULL;
  hwi_heap_leave(heap, result);
  if (block)
    hwi_heap_make_present(heap, (uintptr_t)(end - new_bytes), new_bytes);
  return block;
}

void *hwi_owner_alloc(struct hwi_owner *owner, size_t bytes)
{
  if (bytes <= HW_HEAP_LARGEST_CLASS_BYTES)
    return alloc_small(owner, class_of(owner, bytes));
  return bytes <= HWI_SPAN_BYTES ? alloc_span(owner->heap, bytes) : alloc_large(owner->heap, bytes, HW_HEAP_ALIGN);
}

/* A class fits if its blocks are multiples of the alignment: pages are aligned more than that. */
void *hwi_owner_alloc_aligned(struct hwi_owner *owner, size_t align, size_t bytes)
{
  struct hw_heap *heap = owner->heap;
  if (align <= HW_HEAP_ALIGN)
    return hwi_owner_alloc(owner, bytes);
  if (align > HWI_SLICE_BYTES)
    return alloc_large(heap, bytes ? bytes : 1, align);
  if (bytes < align)
    bytes = align;
  if (bytes <= HW_HEAP_LARGEST_CLASS_BYTES) {
    unsigned i = class_of(owner, bytes);
    while (heap->class_bytes[i] & (align - 1))
      i++; /* the last class is a multiple of every such alignment */
    return alloc_small(owner, i);
  }
  return bytes <= HWI_SPAN_BYTES ? alloc_span(heap, bytes) : alloc_large(heap, bytes, align);
}

void *hwi_owner_alloc_zeroed(struct hwi_owner *owner, size_t align, size_t bytes)
{
  void *block = hwi_owner_alloc_aligned(owner, align, bytes);
  if (!block)
    return NULL;
  const struct hwi_page *page = hwi_slice_of(block);
  bool is_clean = page->back == 0 && page->kind != HWI_PAGE_SMALL && page->is_clean;
  return is_clean ? block : memset(block, 0, bytes);
}
