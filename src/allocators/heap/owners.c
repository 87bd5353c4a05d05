/* owners.c - the owners of a general heap's pages: threads begin and end, and free blocks for each other
 *
 * layout.h says why this is right.
 */
#include "allocators/heap/heap_lock.h"

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

bool hwi_owner_has_to_drain(const struct hwi_owner *owner)
{
  return __atomic_load_n(&owner->inbox, __ATOMIC_SEQ_CST) || __atomic_load_n(&owner->saved, __ATOMIC_RELAXED);
}

/* Ends: each round empties the inbox, or another thread has the orphan and does so. */
static void drain_orphan(struct hwi_owner *owner)
{
  while (hwi_owner_has_to_drain(owner) && lock_orphan(owner)) {
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

void hwi_page_push_remote(struct hwi_page *page, struct hwi_free_block *first, struct hwi_free_block *last,
                          size_t count)
{
  uint64_t before = __atomic_load_n(&page->remote, __ATOMIC_RELAXED), after;
  do {
    last->next = hwi_remote_first(page, before);
    after = hwi_remote(page, first, hwi_remote_count(before) + count);
  } while (!__atomic_compare_exchange_n(&page->remote, &before, after, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
  if (!before)
    drain_orphan(push_page(page));
}

/* Returns both lists as one. Only the shorter one is followed to its end: each link of blocks that another thread has
 * freed waits for that thread's processor. */
static struct hwi_free_block *join(struct hwi_free_block *one, struct hwi_free_block *other)
{
  if (!other)
    return one;
  struct hwi_free_block *last = one, *others_last = other;
  while (last->next && others_last->next) {
    last = last->next;
    others_last = others_last->next;
  }
  if (others_last->next) {
    last->next = other;
    return one;
  }
  others_last->next = one;
  return other;
}

/* For a page of the calling thread's owner. */
static void take_back(struct hwi_page *page, struct hwi_free_block *list, size_t count)
{
  page->free = join(list, page->free);
  if (hwi_page_has_list_of_owner(page)) {
    if (page->count > 1)
      page->count--; /* it was used since the last look (empty.c) */
    return;
  }
  if (page->is_full)
    hwi_page_end_full(page);
  page->count -= (uint32_t)count;
  if (page->count == 0)
    hwi_page_settle(page);
}

void hwi_owner_give_back(const struct hwi_owner *owner, struct hwi_page *page, struct hwi_free_block *first,
                         struct hwi_free_block *last, size_t count)
{
  if (__atomic_load_n(&page->owner, __ATOMIC_RELAXED) == owner)
    take_back(page, first, count);
  else
    hwi_page_push_remote(page, first, last, count);
}

static void take_remote(struct hwi_page *page)
{
  uint64_t remote = __atomic_exchange_n(&page->remote, 0, __ATOMIC_ACQ_REL);
  if (remote) /* else a fork has moved the blocks to `saved` */
    take_back(page, hwi_remote_first(page, remote), hwi_remote_count(remote));
}

static void take_saved(struct hwi_owner *owner)
{
  for (struct hwi_free_block *block; (block = owner->saved);) {
    __atomic_store_n(&owner->saved, block->next, __ATOMIC_RELAXED);
    block->next = NULL;
    take_back(block->page, block, 1);
  }
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
  take_saved(owner);
}

void hwi_owner_drain_if_needed(struct hwi_owner *owner)
{
  if (hwi_owner_has_to_drain(owner) && !hwi_lock_is_closed_by_me()) /* else forks.c has yet to check the lists */
    hwi_owner_drain(owner);
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

/* --- orphans: with the lock --- */

static void set_first_orphan(struct hw_heap *heap, struct hwi_owner *owner)
{
  __atomic_store_n(&heap->orphans, owner, __ATOMIC_RELAXED);
}

static void add_to_ring(struct hw_heap *heap, struct hwi_owner *owner)
{
  struct hwi_owner *next = heap->orphans ? heap->orphans : owner;
  struct hwi_owner *prev = heap->orphans ? next->prev_orphan : owner;
  owner->next_orphan = next;
  owner->prev_orphan = prev;
  prev->next_orphan = next->prev_orphan = owner;
  set_first_orphan(heap, owner);
}

static void remove_from_ring(struct hw_heap *heap, struct hwi_owner *owner)
{
  owner->prev_orphan->next_orphan = owner->next_orphan;
  owner->next_orphan->prev_orphan = owner->prev_orphan;
  if (heap->orphans == owner)
    set_first_orphan(heap, owner->next_orphan == owner ? NULL : owner->next_orphan);
}

void hwi_heap_collect_orphans(struct hw_heap *heap)
{
  struct hwi_owner *owner = __atomic_exchange_n(&heap->new_orphans, NULL, __ATOMIC_ACQUIRE), *next;
  for (; owner; owner = next) {
    next = owner->next_orphan;
    add_to_ring(heap, owner);
  }
}

void hwi_heap_list_orphans(struct hw_heap *heap, enum hwi_owner_state state)
{
  heap->orphans = heap->new_orphans = NULL;
  for (struct hwi_owner *owner = heap->owners; owner; owner = owner->next)
    if (owner->state == state)
      add_to_ring(heap, owner);
}

/* The owner of a thread that ends. It can be taken as soon as its state is that of an orphan. */
static void push_new_orphan(struct hwi_owner *owner)
{
  struct hwi_owner **list = &owner->heap->new_orphans;
  owner->next_orphan = __atomic_load_n(list, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(list, &owner->next_orphan, owner, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
    ;
}

/* --- pages of ended threads --- */

static bool adopt_from(struct hwi_owner *from, struct hwi_owner *owner, unsigned class_index)
{
  struct hwi_page *page = page_with_room(from, class_index);
  if (page)
    hwi_page_move(page, owner);
  release_orphan(from);
  return page;
}

enum { MOST_ORPHANS = 16 }; /* that are looked at in turn */

/* The first of the ring is then the one that had a page, since it may have more, or the next one to be looked at.
 * What was locked is in `locked`, and may have to be drained. */
static bool adopt_from_ring(struct hwi_owner *owner, unsigned class_index, struct hwi_owner *locked[MOST_ORPHANS + 1])
{
  struct hw_heap *heap = owner->heap;
  hwi_heap_collect_orphans(heap);
  const struct hwi_owner *first = heap->orphans;
  for (int i = 0; heap->orphans && i < MOST_ORPHANS; i++) {
    struct hwi_owner *from = heap->orphans;
    if (lock_orphan(from)) {
      *locked++ = from;
      if (adopt_from(from, owner, class_index))
        return true;
    }
    set_first_orphan(heap, from->next_orphan);
    if (heap->orphans == first)
      break;
  }
  return false;
}

bool hwi_owner_adopt_page(struct hwi_owner *owner, unsigned class_index)
{
  struct hw_heap *heap = owner->heap;
  struct hwi_owner *locked[MOST_ORPHANS + 1] = {NULL};
  if (!__atomic_load_n(&heap->orphans, __ATOMIC_RELAXED) && !__atomic_load_n(&heap->new_orphans, __ATOMIC_RELAXED))
    return false;
  enum hwi_lock_result result = hwi_heap_enter(heap);
  if (result == HWI_LOCK_CLOSED)
    return false;
  bool is_found = adopt_from_ring(owner, class_index, locked);
  hwi_heap_leave(heap, result);
  for (size_t i = 0; locked[i]; i++)
    drain_orphan(locked[i]);
  return is_found;
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
  if (is_its)
    hwi_owner_drain_if_needed(owner); /* a thread that only frees */
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

static struct hwi_free_block *no_list;

void hwi_owner_clear(struct hwi_owner *owner)
{
  for (size_t i = 0; i < HW_HEAP_MOST_CLASSES; i++) {
    owner->lists[i] = &owner->own_lists[i];
    owner->pages[i] = &hwi_no_page;
  }
  owner->lists[HW_HEAP_MOST_CLASSES] = &no_list;
  owner->frees_until_ask = HWI_FEWEST_FREES_UNTIL_ASK;
}

static struct hwi_owner *make_owner(struct hw_heap *heap, const void *key, uintptr_t thread)
{
  struct hwi_owner *owner = (struct hwi_owner *)hwi_os_map(sizeof *owner);
  enum hwi_lock_result result = owner ? hwi_heap_enter(heap) : HWI_LOCK_CLOSED;
  if (owner && result == HWI_LOCK_CLOSED)
    hwi_os_unmap(owner, sizeof *owner);
  if (result == HWI_LOCK_CLOSED)
    return NULL;
  hwi_owner_clear(owner);
  if (heap->config.check_all_frees)
    memset(owner->class_of, HW_HEAP_MOST_CLASSES, sizeof owner->class_of);
  else
    memcpy(owner->class_of, heap->class_of, sizeof owner->class_of);
  owner->heap = heap;
  for (size_t i = 0; i < heap->class_count; i++)
    hwi_owner_reset_kept(owner, i);
  owner->key = key;
  owner->thread = thread;
  owner->next = heap->owners;
  __atomic_store_n(&heap->owners, owner, __ATOMIC_RELEASE);
  heap->owner_count++;
  hwi_heap_count_mapped(heap, sizeof *owner);
  hwi_heap_leave(heap, result);
  return owner;
}

/* A new thread writes to each page that it takes, so it takes no orphan with very many. An orphan's pages do not
 * become more. */
static bool lock_to_inherit(struct hwi_owner *owner)
{
  enum { MOST_PAGES = 256 };
  return __atomic_load_n(&owner->page_count, __ATOMIC_RELAXED) <= MOST_PAGES && lock_orphan(owner);
}

/* Returns the orphan that has this page, if it can be taken, or any of a few; NULL if there is none. */
static struct hwi_owner *take_orphan(struct hw_heap *heap, const struct hwi_page *page)
{
  struct hwi_owner *owner = page ? __atomic_load_n(&page->owner, __ATOMIC_ACQUIRE) : NULL;
  bool is_found = owner && lock_to_inherit(owner);
  hwi_heap_collect_orphans(heap); /* not before: it may have become an orphan just now */
  for (int count = 0; !is_found && heap->orphans && count < MOST_ORPHANS; count++) {
    owner = heap->orphans;
    is_found = lock_to_inherit(owner);
    set_first_orphan(heap, owner->next_orphan);
  }
  if (is_found)
    remove_from_ring(heap, owner);
  return is_found ? owner : NULL;
}

struct hwi_owner *hwi_owner_begin(struct hw_heap *heap, const void *key, uintptr_t thread, const void *block)
{
  enum hw_heap_fault fault;
  const struct hwi_page *page = block ? hwi_heap_page_of(heap, block, &fault) : NULL;
  enum hwi_lock_result result = hwi_heap_enter(heap);
  if (result == HWI_LOCK_CLOSED)
    return NULL;
  struct hwi_owner *owner = take_orphan(heap, page);
  hwi_heap_leave(heap, result);
  if (!owner)
    return make_owner(heap, key, thread);
  take_over(owner, key, thread);
  return owner;
}

void hwi_owner_end(struct hwi_owner *owner)
{
  hwi_owner_drain(owner);
  hwi_owner_give_empty_pages(owner);
  hwi_owner_end_exchanges(owner);
  set_threads(owner, 0);
  __atomic_store_n(&owner->key, NULL, __ATOMIC_RELAXED);
  push_new_orphan(owner);
  release_orphan(owner);
  drain_orphan(owner);
}

void hwi_owner_change_orphans(struct hw_heap *heap, enum hwi_owner_state from, enum hwi_owner_state to)
{
  for (struct hwi_owner *owner = __atomic_load_n(&heap->owners, __ATOMIC_ACQUIRE); owner; owner = owner->next) {
    uint32_t state = from;
    if (__atomic_compare_exchange_n(&owner->state, &state, (uint32_t)to, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
      drain_orphan(owner);
  }
}
