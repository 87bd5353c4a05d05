/* forks.c - general heaps in the child of a fork
 *
 * The child has the thread that forked, and a copy of memory that was not made at one moment: other threads went on
 * allocating meanwhile, and the child may have the last of two changes without the first. A fork therefore closes the
 * lock and holds the owners of ended threads, so that nobody changes these. The owners of other threads are never used
 * by the child: blocks that it frees in their pages are not given out again. In the pages of its own thread, what other
 * threads may have changed is their lists `remote`: each link is checked, and the inbox made again from these lists.
 *
 * A signal handler may fork while its thread is in malloc. Then the thread may have the lock, and its child goes on at
 * the same point: nothing is closed, and nothing is done that the interrupted call does not expect.
 */
#include "allocators/heap/layout.h"

void hwi_heaps_before_fork(void)
{
  if (!hwi_lock_before_fork(&hwi_space.heaps_lock, &hwi_space.lock))
    return;
  for (struct hw_heap *heap = hwi_heaps; heap; heap = heap->next)
    hwi_owner_change_orphans(heap, HWI_OWNER_ORPHAN, HWI_OWNER_HELD);
}

/* The rest of the list is lost from the first link that is not one. */
static void keep_valid(struct hwi_page *page)
{
  struct hwi_free_block **at = &page->remote;
  for (uint32_t i = 0; *at; i++, at = &(*at)->next)
    if (i == page->capacity || !hwi_page_has_block(page, *at) || (*at)->page != page)
      *at = NULL;
}

/* The owner of all threads of a heap was not in use: the fork has closed its lock, or the heap is the forking thread's. */
static bool is_kept(const struct hwi_owner *owner, const void *key)
{
  return owner->key == key || owner->state == HWI_OWNER_HELD || owner == owner->heap->sole;
}

static void keep_pages(struct hwi_page *arena, const void *key)
{
  for (unsigned i = 0; i < HWI_SLICES; i++) {
    struct hwi_page *page = &arena[i];
    struct hwi_owner *owner = page->kind == HWI_PAGE_SMALL ? page->owner : NULL;
    if (!owner || (arena->unit.free_slices >> i & 1))
      continue;
    if (!is_kept(owner, key)) {
      page->thread = 0; /* a new thread may have the same value */
    } else if (page->remote) {
      keep_valid(page);
      page->inbox_next = owner->inbox;
      owner->inbox = page->remote ? page : owner->inbox;
    }
  }
}

static void keep_own(struct hw_heap *heap, const void *key)
{
  struct hwi_owner *owner;
  for (owner = heap->owners; owner; owner = owner->next)
    if (is_kept(owner, key))
      owner->inbox = NULL;
  for (struct hwi_page *arena = heap->arenas; arena; arena = arena->unit.next)
    keep_pages(arena, key);
  for (owner = heap->owners; owner; owner = owner->next)
    if (owner->key != key) {
      owner->key = NULL; /* the same */
      if (!is_kept(owner, key))
        owner->state = HWI_OWNER_LOCKED; /* its lists may be torn: nobody may take it */
    }
}

bool hwi_heaps_after_fork(bool is_child, const void *key)
{
  if (is_child)
    for (struct hw_heap *heap = hwi_heaps; heap; heap = heap->next)
      keep_own(heap, key);
  if (!hwi_lock_after_fork(&hwi_space.heaps_lock, &hwi_space.lock, is_child))
    return false;
  for (struct hw_heap *heap = hwi_heaps; heap; heap = heap->next)
    hwi_owner_change_orphans(heap, HWI_OWNER_HELD, HWI_OWNER_ORPHAN);
  return true;
}
