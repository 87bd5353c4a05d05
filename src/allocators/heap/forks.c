/* forks.c - general heaps in the child of a fork
 *
 * The child has the thread that forked, and a copy of memory that was not made at one moment: other threads went on
 * allocating meanwhile, and the child may have the last of two changes without the first. A fork therefore closes the
 * lock and holds the owners of ended threads, so that nobody changes these. The owners of other threads are never
 * used by the child: blocks that it frees in their pages are not given out again, except by its thread as long as it
 * keeps them (kept.c), and what these threads kept is lost. What others had freed in their pages stays in the lists
 * `remote`, and is known as free; but that of an orphan which a thread has locked is lost, since a call that goes on
 * in the child may use the orphan again. In the pages of its own thread, what other threads may have changed is their
 * lists `remote`: each link is checked, and the blocks are saved in the owner, which takes them when it empties its
 * inbox the next time. What other threads were returning to the system is not used again.
 *
 * A signal handler may fork while its thread is in malloc. Then the thread may have the lock, and its child goes on
 * at the same point: nothing is closed, and nothing is done that the interrupted call does not expect. The thread may
 * have taken its inbox, and go on to follow the links between its pages, so these stay as they are: the lists that it
 * then finds in these pages are empty. The lists of arenas may be between two changes, so pages are found by their
 * descriptors.
 *
 * A heap without a lock is not closed: if its thread is another one, and in a call, the child has what cannot be
 * used. If its thread is the one that forks, a handler may have interrupted a call on it, which goes on in the child:
 * nothing is done that this call does not expect, since other threads free nothing in such a heap, and all that
 * settles is free at once.
 *
 * A process with one thread closes nothing, since nothing can change meanwhile.
 */
#include "allocators/heap/heap_lock.h"
#include "allocators/heap/space.h"

static HWI_THREAD_LOCAL hwi_thread_flag was_alone;

/* The order of the locks: that of the list of heaps, those of the heaps, that of the space. */
static struct hwi_lock *next_lock(const struct hwi_lock *lock)
{
  if (lock == &hwi_space.lock)
    return NULL;
  const struct hw_heap *its = (const struct hw_heap *)((uintptr_t)lock - offsetof(struct hw_heap, lock));
  struct hw_heap *heap = lock == &hwi_space.heaps_lock ? hwi_heaps : its->next;
  return heap ? &heap->lock : &hwi_space.lock;
}

static const struct hwi_lock_set locks = {&hwi_space.heaps_lock, &hwi_space.lock, next_lock};

static bool has_heap_lock(void)
{
  return hwi_heap_lock_of_thread && hwi_lock_is_mine(hwi_heap_lock_of_thread);
}

bool hwi_heaps_has_lock(void)
{
  return has_heap_lock() || hwi_lock_is_mine(&hwi_space.heaps_lock);
}

void hwi_heaps_before_fork(void)
{
  was_alone = hwi_lock_is_alone();
  if (!hwi_lock_before_fork(&locks, has_heap_lock()))
    return;
  hwi_space_collect();
  for (struct hw_heap *heap = hwi_heaps; heap; heap = heap->next) {
    hwi_heap_collect_settled(heap);
    hwi_heap_collect_orphans(heap);
    hwi_owner_change_orphans(heap, HWI_OWNER_ORPHAN, HWI_OWNER_HELD);
  }
}

/* --- the child --- */

/* The owner of all threads of a heap was not in use: the fork has closed its lock, or the heap is the forking
 * thread's. (If a heap of one thread is another one's, the child may not use it.) */
static bool is_kept(const struct hwi_owner *owner, const void *key)
{
  return owner->key == key || owner->state == HWI_OWNER_HELD || owner == owner->heap->sole;
}

/* Is it of a thread that this process does not have? That of a call which goes on, or of an ended thread, is not. */
static bool is_gone(const struct hwi_owner *owner, const void *key)
{
  return owner->state == HWI_OWNER_GONE || (!is_kept(owner, key) && owner->key);
}

/* What other threads have freed of a page. The rest of their list is lost from the first link that is not one. */
struct freed {
  struct hwi_free_block *first, **end; /* the link after the last one */
  uint32_t count;
};

static void find_freed(const struct hwi_page *page, struct freed *freed)
{
  uint32_t count = hwi_remote_count(page->remote);
  freed->first = hwi_remote_first(page, page->remote);
  freed->end = &freed->first;
  for (freed->count = 0; freed->count < count; freed->count++) {
    struct hwi_free_block *block = *freed->end;
    if (!block || !hwi_page_has_block(page, block) || block->page != page)
      return;
    freed->end = &block->next;
  }
}

/* The owner takes them later. */
static void save(struct hwi_page *page, struct hwi_owner *owner)
{
  struct freed freed;
  find_freed(page, &freed);
  *freed.end = owner->saved;
  __atomic_store_n(&owner->saved, freed.first, __ATOMIC_RELAXED);
  page->remote = 0;
}

/* Nobody takes them any more, but they are known as free. */
static void leave(struct hwi_page *page)
{
  struct freed freed;
  find_freed(page, &freed);
  if (*freed.end)
    *freed.end = NULL;
  page->remote = freed.count ? hwi_remote(page, freed.first, freed.count) : 0;
}

static void keep_pages(struct hwi_page *arena, const void *key)
{
  for (struct hwi_page *page = arena; page < arena + HWI_SLICES; page++) {
    struct hwi_owner *owner = page->kind == HWI_PAGE_SMALL ? page->owner : NULL;
    if (!owner)
      continue;
    if (is_kept(owner, key)) {
      save(page, owner);
      continue;
    }
    page->thread = 0; /* a new thread may have the same value */
    if (is_gone(owner, key))
      leave(page);
    else
      page->remote = 0;
  }
}

static void keep_all_pages(const void *key)
{
  for (size_t off = 0, bytes; off < hwi_space.bytes; off += bytes) {
    struct hwi_page *unit = &hwi_space.pages[off >> HWI_SLICE_BITS];
    bytes = HWI_UNIT_BYTES;
    if (unit->kind == HWI_PAGE_LARGE && unit->block_bytes)
      bytes = hwi_units_up(unit->block_bytes);
    else if (unit->heap)
      keep_pages(unit, key);
  }
}

static void keep_owners(struct hw_heap *heap, const void *key)
{
  for (struct hwi_owner *owner = heap->owners; owner; owner = owner->next) {
    owner->inbox = NULL;
    if (owner->key == key)
      continue;
    if (is_gone(owner, key))
      owner->state = HWI_OWNER_GONE;
    else if (!is_kept(owner, key))
      owner->state = HWI_OWNER_LOCKED;
    owner->key = NULL; /* a new thread may have the same one */
  }
}

/* In a fork that closes nothing, the thread perhaps has the lock, and is changing the ring. */
static void keep_own(const void *key, bool is_closed)
{
  keep_all_pages(key);
  hwi_space.settled = NULL;
  for (struct hw_heap *heap = hwi_heaps; heap; heap = heap->next) {
    keep_owners(heap, key);
    heap->settled = NULL;
    heap->new_orphans = NULL;
    if (is_closed)
      hwi_heap_list_orphans(heap, HWI_OWNER_HELD);
  }
}

void hwi_heaps_after_fork(bool is_child, const void *key, void (*settle)(void))
{
  if (is_child && !was_alone)
    keep_own(key, hwi_lock_is_closed_by_me());
  if (!hwi_lock_after_fork(&locks, is_child))
    return;
  for (struct hw_heap *heap = hwi_heaps; heap; heap = heap->next)
    hwi_owner_change_orphans(heap, HWI_OWNER_HELD, HWI_OWNER_ORPHAN);
  if (settle)
    settle();
  hwi_lock_give(&hwi_space.heaps_lock);
}
