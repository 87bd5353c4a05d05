/* kept.c - blocks of other threads' pages that a thread frees, and keeps to give them out itself
 *
 * Such a block goes on the thread's own list of free blocks, before those of the class's first page: it is the next one that is given
 * out. It is in the processor's cache then, no other thread has to know of it, and memory is used again at once. The thread keeps few
 * of each class; of more, the older half goes back, blocks of the same page together.
 *
 * A short block is in one line of the cache with others: two threads that write to the same line wait for each other. Short blocks are
 * therefore kept only by a thread that exchanges blocks of the class with others, so that these lines go from processor to processor
 * anyway: while it uses up its own blocks, it frees others', and others free some of its. This ends when it uses up its own blocks and
 * frees none of others', or when it gives others' out to itself: some that it frees are noted, and one of them is freed again soon.
 *
 * Each kept block may hold a page that is otherwise empty. A thread that frees and does not allocate therefore keeps fewer and fewer,
 * at last sixteen of a class.
 *
 * Nobody counts kept blocks when they are given out. `kept_left` is how many may be added until they are counted again.
 */
#include "allocators/heap/layout.h"

enum { MOST_KEPT = 64, MOST_KEPT_BYTES = 16 << 10, LEAST_KEPT = 16, CHAINS = 4, ENOUGH_EXCHANGED = 16, RECENT = 4 };

size_t hwi_most_kept(size_t block_bytes)
{
  size_t count = MOST_KEPT_BYTES / block_bytes;
  return count < 2 ? 0 : count < MOST_KEPT ? count : MOST_KEPT;
}

/* --- short blocks --- */

static bool is_short(size_t class_index, size_t block_bytes)
{
  return class_index < HWI_SHORT_CLASSES && block_bytes < HWI_LINE_BYTES;
}

/* Whether the thread has exchanged blocks of the class with others since it used up its own for the last time. */
static bool has_exchanged(const struct hwi_owner *owner, size_t class_index)
{
  return owner->most_kept[class_index]
             ? owner->kept_left[class_index] < owner->most_kept[class_index]
             : owner->freed_others[class_index] >= ENOUGH_EXCHANGED && owner->others_freed[class_index];
}

void hwi_owner_reset_kept(struct hwi_owner *owner, size_t class_index)
{
  uint16_t most = owner->heap->most_kept[class_index];
  if (is_short(class_index, owner->heap->class_bytes[class_index])) {
    most = has_exchanged(owner, class_index) ? most : 0;
    owner->freed_others[class_index] = 0;
    owner->others_freed[class_index] -= owner->others_freed[class_index] > 0;
  }
  owner->most_kept[class_index] = owner->kept_left[class_index] = most;
}

void hwi_owner_count_others(struct hwi_owner *owner, size_t class_index)
{
  if (class_index < HWI_SHORT_CLASSES)
    owner->others_freed[class_index] = RECENT;
}

/* Returns whether the block was noted lately. */
static bool note(struct hwi_owner *owner, const struct hwi_free_block *block)
{
  const struct hwi_free_block **noted = &owner->noted[((uintptr_t)block >> HWI_GRANULE_BITS) % HWI_NOTED_BLOCKS];
  bool was_noted = *noted == block;
  *noted = block;
  return was_noted;
}

static __attribute__((noinline)) void end_exchange(struct hwi_owner *owner, size_t class_index)
{
  owner->most_kept[class_index] = 0;
  owner->freed_others[class_index] = 0;
  hwi_owner_give_kept(owner, class_index, 0);
}

/* Called for each short block that is not kept, and for some of those that are. */
static void count_exchange(struct hwi_owner *owner, size_t class_index, const struct hwi_free_block *block)
{
  owner->freed_others[class_index]++;
  if (owner->most_kept[class_index] && note(owner, block))
    end_exchange(owner, class_index);
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

/* Returns how many are kept, at most `most`. */
static size_t count_kept(const struct hwi_owner *owner, size_t class_index, size_t most)
{
  const struct hwi_page *own = owner->pages[class_index];
  const struct hwi_free_block *block = owner->free[class_index];
  uintptr_t start = hwi_page_start(own);
  size_t bytes = own->slice_count * HWI_SLICE_BYTES, count = 0;
  for (; count < most && block && (uintptr_t)block - start >= bytes; count++)
    block = block->next;
  return count;
}

/* If none was given out since they were counted, all go back, and fewer are kept from now on. */
static __attribute__((noinline)) void count_again(struct hwi_owner *owner, size_t class_index)
{
  size_t most = owner->most_kept[class_index], count = count_kept(owner, class_index, most);
  bool shrinks = count == most;
  if (shrinks && most > LEAST_KEPT)
    owner->most_kept[class_index] = (uint16_t)(most / 2 > LEAST_KEPT ? most / 2 : LEAST_KEPT);
  if (count > most / 2)
    hwi_owner_give_kept(owner, class_index, shrinks ? 0 : most / 2);
  else
    owner->kept_left[class_index] = (uint16_t)(most - count);
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
  bool may_keep = owner && owner->thread && page->heap == owner->heap;
  if (may_keep && is_short(i, page->block_bytes))
    count_exchange(owner, i, block);
  if (!may_keep || !owner->kept_left[i]) {
    block->page = page;
    hwi_page_push_remote(page, block, block);
    return;
  }
  push(owner, page, block);
  if (!owner->kept_left[i])
    count_again(owner, i);
}

bool hwi_owner_try_keep(struct hwi_owner *owner, struct hwi_page *page, void *address)
{
  struct hwi_free_block *block = (struct hwi_free_block *)address;
  if (!HWI_LOAD_WORD(page->thread) || page->heap != owner->heap || owner->kept_left[page->class_index] <= 1 ||
      block->page == page)
    return false;
  push(owner, page, block);
  return true;
}

bool hwi_owner_try_free_others(struct hwi_owner *owner, struct hwi_page *page, void *address)
{
  struct hwi_free_block *block = (struct hwi_free_block *)address;
  if (!HWI_LOAD_WORD(page->thread) || !owner->heap || !hwi_page_has_block(page, block) || block->page == page)
    return false;
  hwi_is_in_malloc = true;
  hwi_owner_free_others(owner, page, block);
  hwi_is_in_malloc = false;
  return true;
}
