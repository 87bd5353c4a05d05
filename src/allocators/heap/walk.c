/* walk.c - looks at all of a general heap: its blocks, and whether its records are right */
#include "allocators/heap/walk.h"
#include "allocators/heap/heap_lock.h"
#include "allocators/heap/libc_blocks.h"

#include <string.h>

enum { WORD_BITS = 64 };

/* --- lists of owners --- */

/* Of a class, or, for HW_HEAP_MOST_CLASSES, of any. Another thread may have taken the page, and be making it: what
 * belongs to a class is read only after the kind shows that the page is made. It stays then, as long as the caller has
 * the lock. */
static bool is_block(const struct hw_heap *heap, size_t class_index, const struct hwi_free_block *link)
{
  if (hwi_heap_at(link) != heap)
    return false;
  const struct hwi_page *page = hwi_page_of(link);
  if (__atomic_load_n(&page->kind, __ATOMIC_ACQUIRE) != HWI_PAGE_SMALL)
    return false;
  bool is_of_class = page->class_index == class_index || class_index == HW_HEAP_MOST_CLASSES;
  return is_of_class && hwi_page_has_block(page, link);
}

struct list {
  const struct hwi_free_block *first;
  size_t class_index, most;
  const struct hwi_page *seen; /* only blocks of this page are; NULL: all */
};

static enum hwi_walk each(const struct hw_heap *heap, struct list list, hwi_free_fn *see, void *context)
{
  const struct hwi_free_block *block = list.first;
  for (size_t count = 0; block; block = hwi_link_load(&block->next)) {
    if (++count > list.most || !is_block(heap, list.class_index, block))
      return HWI_WALK_DAMAGED;
    if ((!list.seen || hwi_page_of(block) == list.seen) && !see(context, block))
      return HWI_WALK_STOPPED;
  }
  return HWI_WALK_DONE;
}

enum hwi_walk hwi_owner_each_free(const struct hwi_owner *owner, size_t class_index, hwi_free_fn *see, void *context)
{
  struct hwi_free_block *const *list = __atomic_load_n(&owner->lists[class_index], __ATOMIC_RELAXED);
  const struct hwi_free_block *first = hwi_link_load(list);
  bool is_gone = __atomic_load_n(&owner->state, __ATOMIC_RELAXED) == HWI_OWNER_GONE;
  const struct hwi_page *seen =
      is_gone ? owner->pages[class_index] : NULL; /* it may have been handing the others back */
  return each(owner->heap, (struct list){first, class_index, HWI_MOST_BLOCKS + HWI_MOST_KEPT, seen}, see, context);
}

enum hwi_walk hwi_owner_each_saved(const struct hwi_owner *owner, hwi_free_fn *see, void *context)
{
  const struct hwi_free_block *first = __atomic_load_n(&owner->saved, __ATOMIC_RELAXED);
  if (!first)
    return HWI_WALK_DONE;
  size_t most = owner->heap->taken_bytes / HW_HEAP_ALIGN;
  return each(owner->heap, (struct list){first, HW_HEAP_MOST_CLASSES, most, NULL}, see, context);
}

/* --- one page --- */

/* Another thread may be changing the page. While the count is none, the owner's list is that of the page: this is
 * seen before the count is read, or after it, unless it changes twice meanwhile. */
__attribute__((no_sanitize("thread"))) size_t hwi_page_used_count(const struct hwi_page *page)
{
  bool is_counted = !hwi_page_has_list_of_owner(page);
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  size_t count = page->count, carved = page->carved_count;
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  if (page->is_full)
    return page->capacity;
  return is_counted && !hwi_page_has_list_of_owner(page) && count < carved ? count : carved;
}

/* A bit for each block of a page: those that are free. */
struct free_blocks {
  uint64_t words[HWI_MOST_BLOCKS / WORD_BITS];
  size_t count;
};

/* Returns false if the block is twice in the lists. */
static bool add(struct free_blocks *set, const struct hwi_page *page, const struct hwi_free_block *block)
{
  size_t index = hwi_page_index(page, (uintptr_t)block - hwi_page_start(page));
  uint64_t bit = (uint64_t)1 << index % WORD_BITS, *word = &set->words[index / WORD_BITS];
  if (*word & bit)
    return false;
  *word |= bit;
  set->count++;
  return true;
}

/* Adds a list of the page. Returns false if it is damaged. */
static bool add_list(struct free_blocks *set, const struct hwi_page *page, const struct hwi_free_block *list)
{
  for (; list; list = list->next)
    if (!hwi_page_has_block(page, list) || !add(set, page, list))
      return false;
  return true;
}

static bool add_remote(struct free_blocks *set, const struct hwi_page *page)
{
  size_t before = set->count;
  uint64_t remote = __atomic_load_n(&page->remote, __ATOMIC_ACQUIRE);
  return add_list(set, page, hwi_remote_first(page, remote)) && set->count - before == hwi_remote_count(remote);
}

struct addition {
  struct free_blocks *set;
  const struct hwi_page *page;
};

static bool add_if_of_page(void *context, const struct hwi_free_block *block)
{
  const struct addition *addition = (const struct addition *)context;
  return !hwi_page_has_block(addition->page, block) || add(addition->set, addition->page, block);
}

/* Another thread has the owner, or a fork has ended its thread. */
static bool is_torn(const struct hwi_owner *owner)
{
  uint32_t state = __atomic_load_n(&owner->state, __ATOMIC_RELAXED);
  return state == HWI_OWNER_LOCKED || state == HWI_OWNER_GONE;
}

/* Adds those blocks of an owner's list that are the page's. Returns false if the list is damaged. */
static bool add_from(struct free_blocks *set, const struct hwi_page *page, const struct hwi_owner *owner)
{
  struct addition addition = {set, page};
  return hwi_owner_each_free(owner, page->class_index, add_if_of_page, &addition) == HWI_WALK_DONE || is_torn(owner);
}

static bool add_saved(struct free_blocks *set, const struct hwi_page *page, const struct hwi_owner *owner)
{
  struct addition addition = {set, page};
  return hwi_owner_each_saved(owner, add_if_of_page, &addition) == HWI_WALK_DONE || is_torn(owner);
}

/* Returns whether a block that is not in the set has the mark of a free one: another thread may keep it, or it is
 * saved. */
static bool has_more(const struct free_blocks *set, const struct hwi_page *page)
{
  for (size_t i = 0; i < page->carved_count; i++) {
    const char *block = (const char *)hwi_page_start(page) + i * page->block_bytes;
    if (!(set->words[i / WORD_BITS] >> i % WORD_BITS & 1) && ((const struct hwi_free_block *)block)->page == page)
      return true;
  }
  return false;
}

static bool add_kept_and_saved(struct free_blocks *set, const struct hwi_page *page)
{
  for (const struct hwi_owner *owner = page->owner->heap->owners; owner; owner = owner->next)
    if ((owner != page->owner && !add_from(set, page, owner)) || !add_saved(set, page, owner))
      return false;
  return true;
}

static bool add_all(struct free_blocks *set, const struct hwi_page *page)
{
  if (!hwi_page_has_list_of_owner(page) && !add_list(set, page, page->free))
    return false;
  return set->count + hwi_page_used_count(page) == page->carved_count && add_remote(set, page) &&
         add_from(set, page, page->owner) && (!has_more(set, page) || add_kept_and_saved(set, page));
}

/* Returns whether a page may be between two changes: its thread was making it when another one looked, or a fork has
 * ended the thread. */
static bool may_be_torn(const struct hwi_page *page)
{
  const struct hwi_owner *owner = __atomic_load_n(&page->owner, __ATOMIC_ACQUIRE);
  return !owner || is_torn(owner);
}

/* Finds the blocks of a page that are free; if it is torn, those that are found. Returns false if a list is damaged. */
static bool find_free(struct free_blocks *set, const struct hwi_page *page)
{
  size_t words = (page->carved_count + WORD_BITS - 1) / WORD_BITS, most = HWI_MOST_BLOCKS / WORD_BITS;
  set->count = 0;
  memset(set->words, 0, (words < most ? words : most) * sizeof *set->words);
  return (page->owner && add_all(set, page)) || may_be_torn(page);
}

/* --- all pages --- */

/* A page of no kind is just being made, or was when a fork ended its thread. */
static bool is_made(const struct hwi_page *page)
{
  uint8_t kind = __atomic_load_n(&page->kind, __ATOMIC_ACQUIRE);
  return kind != HWI_PAGE_NONE && kind != HWI_PAGE_PENDING;
}

static const struct hwi_page *each_of_arena(const struct hwi_page *arena, hwi_page_fn *see, void *context)
{
  for (unsigned i = 0; i < HWI_SLICES; i += hwi_free_slices(arena) >> i & 1 ? 1 : arena[i].slice_count)
    if (!(hwi_free_slices(arena) >> i & 1) && is_made(&arena[i]) && !see(context, &arena[i]))
      return &arena[i];
  return NULL;
}

const struct hwi_page *hwi_heap_each_page(const struct hw_heap *heap, hwi_page_fn *see, void *context)
{
  const struct hwi_page *stopped = NULL;
  for (unsigned group = 0; group <= HWI_SLICES; group++)
    for (const struct hwi_page *arena = heap->arenas[HWI_BY_FREE].lists[group]; arena && !stopped;
         arena = arena->links.next)
      stopped = each_of_arena(arena, see, context);
  for (const struct hwi_page *page = heap->large; page && !stopped; page = page->next)
    stopped = see(context, page) ? NULL : page;
  return stopped;
}

struct visit {
  hw_heap_visit_fn *visit;
  void *context;
};

static bool visit_blocks(void *context, const struct hwi_page *page)
{
  const struct visit *visit = (const struct visit *)context;
  if (page->kind != HWI_PAGE_SMALL)
    return visit->visit(visit->context, (void *)hwi_page_start(page), page->block_bytes);
  struct free_blocks set;
  if (!find_free(&set, page))
    return false;
  for (size_t i = 0; i < page->carved_count; i++)
    if (!(set.words[i / WORD_BITS] >> i % WORD_BITS & 1) &&
        !visit->visit(visit->context, (void *)(hwi_page_start(page) + i * page->block_bytes), page->block_bytes))
      return false;
  return true;
}

void hw_heap_walk(struct hw_heap *heap, hw_heap_visit_fn *visit, void *context)
{
  struct visit all = {visit, context};
  enum hwi_lock_result result = hwi_heap_lock_always(heap);
  hwi_heap_each_page(heap, visit_blocks, &all);
  hwi_libc_each(heap, visit, context);
  hwi_heap_unlock(heap, result);
}

/* --- check --- */

static bool is_page_right(void *context, const struct hwi_page *page)
{
  const struct hw_heap *heap = (const struct hw_heap *)context;
  struct free_blocks set;
  if (hwi_unit_of(page)->heap != heap)
    return false;
  if (page->kind == HWI_PAGE_SPAN)
    return page->block_bytes == page->slice_count * HWI_SLICE_BYTES;
  if (page->kind != HWI_PAGE_SMALL)
    return page->kind == HWI_PAGE_LARGE && page->block_bytes != 0;
  return (!page->owner || page->owner->heap == heap) && page->class_index < heap->class_count &&
         page->block_bytes == heap->class_bytes[page->class_index] && page->carved_count <= page->capacity &&
         page->capacity == hwi_page_capacity(heap, page->slice_count * HWI_SLICE_BYTES, page->block_bytes) &&
         find_free(&set, page);
}

enum hw_heap_fault hw_heap_check(struct hw_heap *heap, void **where)
{
  enum hwi_lock_result result = hwi_heap_lock_always(heap);
  const struct hwi_page *wrong = hwi_heap_each_page(heap, is_page_right, heap);
  hwi_heap_unlock(heap, result);
  if (where)
    *where = wrong ? (void *)hwi_page_start(wrong) : NULL;
  return wrong ? HW_HEAP_DAMAGED : heap->is_alive ? HW_HEAP_OK : HW_HEAP_DESTROYED;
}
