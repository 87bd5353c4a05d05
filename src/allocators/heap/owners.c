/* owners.c - the owners of a general heap's pages: threads begin and end, and free blocks for each other
 *
 * layout.h says why this is right.
 */
#include "allocators/heap/layout.h"

#include <string.h>

#include "platform/os.h"

/* --- the inbox --- */

static bool lock_orphan(struct hwi_owner *owner)
{
  uint32_t state = HWI_OWNER_ORPHAN;
  return __atomic_load_n(&owner->state, __ATOMIC_SEQ_CST) == state &&
         __atomic_compare_exchange_n(&owner->state, &state, (uint32_t)HWI_OWNER_LOCKED, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_RELAXED);
}

static void release_orphan(struct hwi_owner *owner)
{
  __atomic_store_n(&owner->state, (uint32_t)HWI_OWNER_ORPHAN, __ATOMIC_SEQ_CST);
}

/* Ends: each round empties the inbox, or another thread has the orphan and does so. */
static void drain_orphan(struct hwi_owner *owner)
{
  while (__atomic_load_n(&owner->inbox, __ATOMIC_SEQ_CST) && lock_orphan(owner)) {
    hwi_owner_drain(owner);
    hwi_owner_give_empty_pages(owner);
    release_orphan(owner);
  }
}

/* Returns the owner that got the page. */
static struct hwi_owner *push_page(struct hwi_page *page)
{
  struct hwi_owner *owner = __atomic_load_n(&page->owner, __ATOMIC_ACQUIRE);
  page->inbox_next = __atomic_load_n(&owner->inbox, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(&owner->inbox, &page->inbox_next, page, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
    ;
  return owner;
}

void hwi_page_push_remote(struct hwi_page *page, struct hwi_free_block *block)
{
  struct hwi_free_block *first = __atomic_load_n(&page->remote, __ATOMIC_RELAXED);
  block->page = page;
  do
    block->next = first;
  while (!__atomic_compare_exchange_n(&page->remote, &first, block, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
  if (!first)
    drain_orphan(push_page(page));
}

/* The list is empty if the thread was draining when a signal handler of it forked (forks.c). */
static void take_remote(struct hwi_page *page)
{
  struct hwi_free_block *list = __atomic_exchange_n(&page->remote, NULL, __ATOMIC_ACQ_REL), *last = list;
  uint32_t count = 1;
  if (!list)
    return;
  for (; last->next; last = last->next)
    count++;
  last->next = page->free;
  page->free = list;
  if (page->is_full) {
    hwi_page_settle(page);
    page->count++;
  }
  page->count -= count;
  if (page->count == 0)
    hwi_page_settle(page);
}

void hwi_owner_drain(struct hwi_owner *owner)
{
  struct hwi_page *page = __atomic_exchange_n(&owner->inbox, NULL, __ATOMIC_SEQ_CST), *next;
  for (; page; page = next) {
    next = page->inbox_next;
    if (__atomic_load_n(&page->owner, __ATOMIC_ACQUIRE) == owner)
      take_remote(page);
    else
      drain_orphan(push_page(page));
  }
}

void hwi_owner_drain_orphans(struct hw_heap *heap)
{
  for (struct hwi_owner *owner = __atomic_load_n(&heap->owners, __ATOMIC_ACQUIRE); owner; owner = owner->next)
    if (lock_orphan(owner)) {
      hwi_owner_drain(owner);
      hwi_owner_give_empty_pages(owner);
      release_orphan(owner);
      drain_orphan(owner);
    }
}

static struct hwi_page *page_with_room(struct hwi_owner *owner, unsigned class_index)
{
  struct hwi_page *page = owner->pages[class_index];
  if (page == &hwi_no_page)
    return NULL;
  while (page && !hwi_page_has_room(page))
    page = page->next;
  return page;
}

static struct hwi_page *adopt_from(struct hwi_owner *from, struct hwi_owner *owner, unsigned class_index)
{
  struct hwi_page *page = page_with_room(from, class_index);
  if (page)
    hwi_page_move(page, owner);
  release_orphan(from);
  drain_orphan(from);
  return page;
}

bool hwi_owner_adopt_page(struct hwi_owner *owner, unsigned class_index)
{
  enum { MOST_ORPHANS = 16 };
  struct hw_heap *heap = owner->heap;
  struct hwi_owner *first = __atomic_load_n(&heap->next_orphan, __ATOMIC_ACQUIRE), *from;
  if (!first)
    first = __atomic_load_n(&heap->owners, __ATOMIC_ACQUIRE);
  from = first;
  int orphans = 0;
  do {
    if (lock_orphan(from)) {
      orphans++;
      if (adopt_from(from, owner, class_index)) {
        __atomic_store_n(&heap->next_orphan, from, __ATOMIC_RELEASE); /* it may have more */
        return true;
      }
    }
    from = from->next ? from->next : __atomic_load_n(&heap->owners, __ATOMIC_ACQUIRE);
  } while (from != first && orphans < MOST_ORPHANS);
  __atomic_store_n(&heap->next_orphan, from, __ATOMIC_RELEASE);
  return false;
}

bool hwi_owner_adopt(struct hwi_owner *owner, struct hwi_page *page)
{
  struct hwi_owner *from = __atomic_load_n(&page->owner, __ATOMIC_ACQUIRE);
  if (!from || !lock_orphan(from))
    return false;
  bool is_its = __atomic_load_n(&page->owner, __ATOMIC_RELAXED) == from;
  if (is_its)
    hwi_page_move(page, owner);
  release_orphan(from);
  drain_orphan(from);
  return is_its;
}

/* --- threads --- */

static void set_thread(struct hwi_page *page, uintptr_t thread)
{
  for (; page && page != &hwi_no_page; page = page->next)
    __atomic_store_n(&page->thread, thread, __ATOMIC_RELAXED);
}

static void set_threads(struct hwi_owner *owner, uintptr_t thread)
{
  owner->thread = thread;
  set_thread(owner->full, thread);
  for (size_t i = 0; i < owner->heap->class_count; i++)
    set_thread(owner->pages[i], thread);
}

static void take_over(struct hwi_owner *owner, const void *key, uintptr_t thread)
{
  set_threads(owner, thread);
  __atomic_store_n(&owner->key, key, __ATOMIC_RELAXED);
  __atomic_store_n(&owner->state, (uint32_t)HWI_OWNER_LIVE, __ATOMIC_SEQ_CST);
}

static struct hwi_owner *make_owner(struct hw_heap *heap, const void *key, uintptr_t thread)
{
  enum hwi_lock_result result = hwi_heap_enter(heap);
  if (result == HWI_LOCK_CLOSED)
    return NULL;
  struct hwi_owner *owner = (struct hwi_owner *)hwi_os_map(sizeof *owner);
  if (owner) {
    for (size_t i = 0; i < HW_HEAP_MOST_CLASSES; i++)
      owner->pages[i] = &hwi_no_page;
    memcpy(owner->class_of, heap->class_of, sizeof owner->class_of);
    owner->heap = heap;
    owner->key = key;
    owner->thread = thread;
    owner->next = heap->owners;
    __atomic_store_n(&heap->owners, owner, __ATOMIC_RELEASE);
    hwi_heap_count_mapped(heap, sizeof *owner);
  }
  hwi_heap_leave(result);
  return owner;
}

/* A new thread writes to each page that it takes, so it takes no orphan with very many. */
static bool inherit(struct hwi_owner *owner, const void *key, uintptr_t thread)
{
  enum { MOST_PAGES = 256 };
  if (!lock_orphan(owner))
    return false;
  if (owner->page_count <= MOST_PAGES) {
    take_over(owner, key, thread);
    return true;
  }
  release_orphan(owner);
  drain_orphan(owner);
  return false;
}

struct hwi_owner *hwi_owner_begin(struct hw_heap *heap, const void *key, uintptr_t thread, const void *block)
{
  enum hw_heap_fault fault;
  const struct hwi_page *page = block ? hwi_heap_page_of(heap, block, &fault) : NULL;
  struct hwi_owner *owner = page ? __atomic_load_n(&page->owner, __ATOMIC_ACQUIRE) : NULL;
  if (owner && inherit(owner, key, thread))
    return owner;
  for (owner = __atomic_load_n(&heap->owners, __ATOMIC_ACQUIRE); owner; owner = owner->next)
    if (inherit(owner, key, thread))
      return owner;
  return make_owner(heap, key, thread);
}

void hwi_owner_end(struct hwi_owner *owner)
{
  hwi_owner_drain(owner);
  hwi_owner_give_empty_pages(owner);
  set_threads(owner, 0);
  __atomic_store_n(&owner->key, NULL, __ATOMIC_RELAXED);
  release_orphan(owner);
  drain_orphan(owner);
}

void hwi_owner_change_orphans(struct hw_heap *heap, enum hwi_owner_state from, enum hwi_owner_state to)
{
  for (struct hwi_owner *owner = heap->owners; owner; owner = owner->next) {
    uint32_t state = from;
    if (__atomic_compare_exchange_n(&owner->state, &state, (uint32_t)to, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
      drain_orphan(owner);
  }
}
