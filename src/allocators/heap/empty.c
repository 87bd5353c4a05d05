/* empty.c - pages of an owner whose blocks are all free: which of them the thread keeps, and when it finds them
 *
 * A page with a count is found when its last block is freed: it goes back to the heap, or the thread keeps it for the
 * next block. The first page of a class has no count while its list is the owner's. So the thread looks now and then,
 * when it is on a slow path anyway, ten times a second at most. If no block of such a page was freed since the last
 * look, it gets its count again, for which its list is followed: a long one a part at each look. Pages with a count
 * go back if they are empty, and were not used since the last look. Blocks of others that the thread keeps (kept.c)
 * hold pages, too, and nobody knows whether they are in use: they go back at each sixteenth look.
 */
#include "allocators/heap/heap_lock.h"

#include "platform/os.h"

/* --- going back --- */

/* Returns false, and the page stays, while a fork has closed the lock: the fast path of free may wait for no fork
 * either. */
static bool give_page(struct hwi_page *page)
{
  struct hw_heap *heap = page->owner->heap;
  enum hwi_lock_result result = hwi_heap_enter_unless_closed(heap);
  if (result == HWI_LOCK_CLOSED) {
    page->owner->has_left_over = true;
    return false;
  }
  hwi_page_leave_owner(page);
  hwi_arena_give(page);
  hwi_heap_leave(heap, result);
  return true;
}

/* Its blocks go back to their pages. */
static void give_list(struct hwi_owner *owner, size_t class_index)
{
  hwi_owner_use_own_list(owner, class_index);
  hwi_owner_give_kept(owner, class_index, 0);
  struct hwi_free_block *block = owner->own_lists[class_index], *next;
  owner->own_lists[class_index] = NULL;
  for (; block; block = next) {
    struct hwi_page *page = hwi_page_of(block); /* the program may have overwritten the mark */
    next = block->next;
    block->next = NULL;
    hwi_owner_give_back(owner, page, block, block, 1);
  }
}

/* Gives back all empty pages, or only those that were empty at the last look, too. Returns false while a fork has
 * closed the lock. */
static bool give_empty_of(struct hwi_owner *owner, size_t class_index, bool all)
{
  for (struct hwi_page *page = owner->pages[class_index], *next; page && page != &hwi_no_page; page = next) {
    next = page->next;
    if (page->count > 0)
      continue;
    if (!all && !page->was_empty)
      page->was_empty = true;
    else if (!give_page(page))
      return false;
  }
  return true;
}

void hwi_owner_give_empty_pages(struct hwi_owner *owner)
{
  for (size_t i = 0; i < HW_HEAP_MOST_CLASSES; i++) {
    give_list(owner, i);
    give_empty_of(owner, i, true);
  }
}

/* --- staying --- */

/* Gives back free pages of other classes until at most MOST_BYTES are kept, or this page alone. */
static void keep_with_others(struct hwi_page *page)
{
  enum { MOST_BYTES = 512 << 10 };
  struct hwi_owner *owner = page->owner;
  page->is_spare = true;
  owner->shared_bytes += hwi_page_touched_bytes(page);
  for (size_t i = 0; i < owner->heap->class_count && owner->shared_bytes > MOST_BYTES; i++) {
    struct hwi_page *other = owner->pages[owner->next_shared];
    if (other != page && other->is_spare && hwi_owner_shares_spares(owner, owner->next_shared) && !give_page(other))
      return;
    owner->next_shared = (uint8_t)((owner->next_shared + 1u) % owner->heap->class_count);
  }
}

/* Returns whether the thread keeps an empty page. The first one of its class stays, since the next block of the class
 * would need a new one. */
static bool keeps(struct hwi_page *page)
{
  struct hwi_owner *owner = page->owner;
  size_t class_index = page->class_index;
  if (!page->prev) {
    if (hwi_owner_shares_spares(owner, class_index))
      keep_with_others(page);
    return true;
  }
  if (owner->spare_counts[class_index] + (size_t)1 >= owner->heap->thread_pages[class_index])
    return false;
  owner->spare_counts[class_index]++;
  page->is_spare = true;
  return true;
}

void hwi_owner_give_left_over(struct hwi_owner *owner)
{
  owner->has_left_over = false;
  for (size_t i = 0; i < owner->heap->class_count; i++)
    for (struct hwi_page *page = owner->pages[i]->next, *next; page; page = next) {
      next = page->next;
      if (page->count == 0 && !page->is_spare && !give_page(page))
        return;
    }
}

/* --- looking --- */

/* Gives the page a count, if no block of it was freed since the last look: as many frees are left as then. Follows at
 * most *left links, and goes on there at the next look, if none was taken meanwhile. */
static void count_if_idle(struct hwi_page *page, uint32_t *left)
{
  struct hwi_owner *owner = page->owner;
  struct hwi_followed followed = owner->followed;
  bool was_freed = page->has_asked || page->count != HWI_FEWEST_FREES_UNTIL_ASK;
  bool is_idle = !was_freed && (!followed.first || followed.first == page->free);
  page->count = HWI_FEWEST_FREES_UNTIL_ASK;
  page->has_asked = false;
  if (!is_idle)
    return;
  if (!followed.first)
    followed = (struct hwi_followed){page->free, page->free, 0};
  for (; followed.next; followed.next = followed.next->next, followed.count++, --*left) {
    if (*left == 0) {
      owner->followed = followed;
      return;
    }
    if (!hwi_page_has_block(page, followed.next) || followed.count == page->carved_count)
      return; /* the program has overwritten a link */
  }
  page->count = page->carved_count - followed.count;
  page->was_empty = page->count == 0;
  __atomic_store_n(&owner->lists[page->class_index], &owner->own_lists[page->class_index], __ATOMIC_RELEASE);
}

/* Returns false while a fork has closed the lock. */
static bool look_at(struct hwi_owner *owner, size_t class_index, bool gives_kept, uint32_t *left)
{
  if (hwi_page_has_list_of_owner(owner->pages[class_index]))
    count_if_idle(owner->pages[class_index], left);
  else if (gives_kept)
    give_list(owner, class_index);
  if (hwi_page_has_list_of_owner(owner->pages[class_index]))
    return true;
  bool has_empty = owner->pages[class_index]->count == 0 || owner->spare_counts[class_index];
  return !has_empty || give_empty_of(owner, class_index, false);
}

static void look(struct hwi_owner *owner)
{
  enum { LOOKS_UNTIL_ALL = 16, MOST_LINKS = 4096 };
  struct hw_heap *heap = owner->heap;
  bool gives_kept = ++owner->looks % LOOKS_UNTIL_ALL == 0;
  uint32_t left = MOST_LINKS;
  if (!heap->sole)
    hwi_owner_drain_if_needed(owner);
  for (size_t i = 0; i < heap->class_count; i++) {
    if (!look_at(owner, owner->next_looked, gives_kept, &left))
      return;
    if (left == 0)
      break;
    if (owner->followed.first) /* in a line that other threads write */
      owner->followed = (struct hwi_followed){NULL};
    owner->next_looked = (uint8_t)((owner->next_looked + 1) % heap->class_count);
  }
  enum hwi_lock_result result = hwi_heap_enter_unless_closed(heap);
  if (result == HWI_LOCK_CLOSED)
    return;
  hwi_heap_pass_by(heap);
  hwi_heap_leave(heap, result);
}

/* The thread asks after one free more each time until a look is due, so that it looks soon if it frees rarely, and
 * asking costs next to nothing if it frees often. At the first time, a thread has nothing that it could have stopped
 * using. */
static void look_if_due(struct hwi_owner *owner)
{
  enum { EVERY_NS = 100000000 };
  const struct hw_heap_config *config = &owner->heap->config;
  bool never_looks = config->returns == HW_HEAP_RETURNS_ON_COLLECT || config->check_all_frees;
  uint64_t now = never_looks ? 0 : hwi_os_coarse_ns(), before = owner->looked_ns;
  if (never_looks || (before && now - before < EVERY_NS)) {
    owner->frees_until_ask += owner->frees_until_ask < HWI_MOST_FREES_UNTIL_ASK;
    return;
  }
  owner->looked_ns = now;
  owner->frees_until_ask = HWI_FEWEST_FREES_UNTIL_ASK;
  if (before)
    look(owner);
}

void hwi_owner_pass_by(struct hwi_owner *owner)
{
  enum { SLOW_CALLS_UNTIL_LOOK = 8 };
  if (++owner->slow_calls % SLOW_CALLS_UNTIL_LOOK == 0)
    look_if_due(owner);
}

/* --- freeing --- */

/* A page with room for a single block, which there is if each free is checked, is full and then empty. */
void hwi_page_settle(struct hwi_page *page)
{
  struct hwi_owner *owner = page->owner;
  if (page->is_full) {
    hwi_page_end_full(page);
    if (--page->count > 0)
      return;
  }
  if (!keeps(page) && give_page(page) && owner->has_left_over)
    hwi_owner_give_left_over(owner);
}

void hwi_page_settle_free(struct hwi_page *page)
{
  struct hwi_owner *owner = page->owner;
  if (hwi_page_has_list_of_owner(page)) {
    page->count = owner->frees_until_ask;
    page->has_asked = true;
    look_if_due(owner);
  } else {
    hwi_page_settle(page);
    hwi_owner_pass_by(owner);
  }
}
