/* kept.c - blocks of other threads' pages that a thread frees, and keeps to give them out itself
 *
 * Such a block goes on the thread's own list of free blocks, before those of the class's first page: it is the next one that is given
 * out. It is in the processor's cache then, no other thread has to know of it, and memory is used again at once. The thread keeps few
 * of each class; of more, the older half goes back, blocks of the same page together. A block shorter than a line of the cache is not
 * kept: two threads that write to the same line would wait for each other.
 *
 * Each kept block may hold a page that is otherwise empty. A thread that frees and does not allocate therefore keeps fewer and fewer,
 * at last sixteen of a class.
 *
 * Nobody counts kept blocks when they are given out. `kept_left` is how many may be added until they are counted again.
 */
#include "allocators/heap/layout.h"

enum { MOST_KEPT = 64, MOST_KEPT_BYTES = 16 << 10, LEAST_KEPT = 16, CHAINS = 4 };

size_t hwi_most_kept(size_t block_bytes)
{
  size_t count = block_bytes < HWI_LINE_BYTES ? 0 : MOST_KEPT_BYTES / block_bytes;
  return count < 2 ? 0 : count < MOST_KEPT ? count : MOST_KEPT;
}

/* --- going back --- */

/* Blocks of one page. */
struct chain {
  struct hwi_page *page;
  struct hwi_free_block *first, *last;
};

static void push_chain(const struct chain *chain)
{
  if (chain->page)
    hwi_page_push_remote(chain->page, chain->first, chain->last);
}

/* The program may have overwritten the mark of a free block: the page is found by the address. */
static void add_to_chain(struct chain chains[CHAINS], struct hwi_page *page, struct hwi_free_block *block)
{
  struct chain *chain = &chains[((uintptr_t)page >> HWI_PAGE_BITS) % CHAINS];
  if (chain->page != page) {
    push_chain(chain);
    *chain = (struct chain){page, NULL, block};
  }
  block->next = chain->first;
  chain->first = block;
}

void hwi_owner_give_kept(struct hwi_owner *owner, size_t class_index, size_t most)
{
  struct chain chains[CHAINS] = {{NULL}};
  struct hwi_page *own = owner->pages[class_index], *page;
  struct hwi_free_block **at = &owner->free[class_index], *block, *next;
  size_t count = 0, limit = owner->most_kept[class_index];
  for (; count < most && *at && hwi_page_of(*at) != own; count++)
    at = &(*at)->next;
  owner->kept_left[class_index] = (uint16_t)(limit > count ? limit - count : 0);
  for (block = *at; block && (page = hwi_page_of(block)) != own; block = next) {
    next = block->next;
    add_to_chain(chains, page, block);
  }
  *at = block;
  for (int i = 0; i < CHAINS; i++)
    push_chain(&chains[i]);
}

void hwi_owner_reset_kept(struct hwi_owner *owner, size_t class_index)
{
  owner->most_kept[class_index] = owner->kept_left[class_index] = owner->heap->most_kept[class_index];
}

/* Returns whether the thread keeps as many as it may. */
static bool has_most(const struct hwi_owner *owner, size_t class_index)
{
  const struct hwi_free_block *block = owner->free[class_index];
  size_t count = owner->most_kept[class_index];
  for (; count && block && hwi_page_of(block) != owner->pages[class_index]; count--)
    block = block->next;
  return count == 0;
}

/* If none was given out since they were counted, all go back, and fewer are kept from now on. */
static void give_some(struct hwi_owner *owner, size_t class_index)
{
  size_t most = owner->most_kept[class_index];
  bool shrinks = has_most(owner, class_index);
  if (shrinks && most > LEAST_KEPT)
    owner->most_kept[class_index] = (uint16_t)(most / 2 > LEAST_KEPT ? most / 2 : LEAST_KEPT);
  hwi_owner_give_kept(owner, class_index, shrinks ? 0 : most / 2);
}

/* --- keeping --- */

static inline void push(struct hwi_owner *owner, struct hwi_page *page, struct hwi_free_block *block)
{
  block->next = owner->free[page->class_index];
  block->page = page;
  owner->free[page->class_index] = block;
  owner->kept_left[page->class_index]--;
}

void hwi_owner_free_others(struct hwi_owner *owner, struct hwi_page *page, struct hwi_free_block *block)
{
  unsigned i = page->class_index;
  if (!owner || !owner->thread || page->heap != owner->heap || !owner->kept_left[i]) {
    block->page = page;
    hwi_page_push_remote(page, block, block);
    return;
  }
  push(owner, page, block);
  if (!owner->kept_left[i])
    give_some(owner, i);
}

static __attribute__((noinline)) bool free_slowly(struct hwi_owner *owner, struct hwi_page *page,
                                                  struct hwi_free_block *block)
{
  if (!HWI_LOAD_WORD(page->thread) || !owner->heap || !hwi_page_has_block(page, block) || block->page == page)
    return false;
  hwi_is_in_malloc = true;
  hwi_owner_free_others(owner, page, block);
  hwi_is_in_malloc = false;
  return true;
}

bool hwi_owner_try_free_others(struct hwi_owner *owner, struct hwi_page *page, void *address)
{
  struct hwi_free_block *block = (struct hwi_free_block *)address;
  if (!HWI_LOAD_WORD(page->thread) || page->heap != owner->heap || owner->kept_left[page->class_index] <= 1 ||
      block->page == page)
    return free_slowly(owner, page, block);
  push(owner, page, block);
  return true;
}
