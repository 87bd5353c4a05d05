/* kept.c - blocks of other threads' pages that a thread frees, and keeps to give them out itself
 *
 * Such a block goes on the thread's own list of free blocks, before those of the class's first page: it is the next
 * one that is given out. It is in the processor's cache then, no other thread has to know of it, and memory is used
 * again at once. The thread keeps few of each class; what goes back of these goes together with others of its page.
 *
 * A short block is in one line of the cache with others: two threads that write to the same line wait for each other.
 * Short blocks are therefore kept only by a thread that exchanges blocks of the class with others, so that these
 * lines go from processor to processor anyway: it frees blocks of others, its list of free blocks changes, and others
 * free some of its. This ends when it uses up its list and frees none of others meanwhile, and in any case after some
 * 64,000 blocks: it may have begun to give others' blocks out to itself.
 *
 * Each kept block may hold a page that is otherwise empty. A thread that frees and does not allocate therefore keeps
 * fewer and fewer, at last sixteen of a class.
 *
 * Nobody counts kept blocks when they are given out. `kept_left` is how many may be added until they are counted
 * again. If the thread has as many as it may, the next ones go back, and it is below 0: how many of these until they
 * are counted again.
 */
#include "allocators/heap/layout.h"

#include "platform/arch.h"

enum { MOST_KEPT_BYTES = 16 << 10, LEAST_KEPT = 16, CHAINS = 4, GO_BACK = 128 };

static_assert(HWI_MOST_KEPT <= INT8_MAX && -GO_BACK >= INT8_MIN, "an owner's counts are int8_t");

size_t hwi_most_kept(size_t block_bytes)
{
  size_t count = MOST_KEPT_BYTES / block_bytes;
  return count < 2 ? 0 : count < HWI_MOST_KEPT ? count : HWI_MOST_KEPT;
}

/* --- short blocks --- */

/* After so many frees of others' blocks it is looked whether the thread exchanges blocks; and after so many counts of
 * what it keeps, it has to begin anew. */
enum { FREES_OF_LOOK = 16, MOST_COUNTS = 1000 };

static bool is_short(const struct hw_heap *heap, size_t class_index)
{
  return class_index < HWI_SHORT_CLASSES && heap->class_bytes[class_index] < HWI_LINE_BYTES;
}

/* Returns what others have freed last of a page of the class that is among the first in the inbox, or NULL. Only the
 * caller takes pages from there. */
static const struct hwi_free_block *last_returned(const struct hwi_owner *owner, size_t class_index)
{
  enum { FIRST = 8 };
  const struct hwi_page *page = __atomic_load_n(&owner->inbox, __ATOMIC_ACQUIRE);
  for (int i = 1; page && page->class_index != class_index; i++)
    page = i < FIRST ? page->inbox_next : NULL;
  return page ? hwi_remote_first(page, __atomic_load_n(&page->remote, __ATOMIC_RELAXED)) : NULL;
}

/* The thread keeps none of the class now. */
static void set_most(struct hwi_owner *owner, size_t class_index, int8_t most)
{
  owner->most_kept[class_index] = owner->kept_left[class_index] = most;
}

/* A block of another thread has gone back. The thread exchanges blocks if its list has changed, and others have freed
 * some of its, since the last look. */
static void look_for_exchange(struct hwi_owner *owner, size_t class_index)
{
  struct hwi_exchange *exchange = &owner->exchanges[class_index];
  if (owner->most_kept[class_index] || ++exchange->frees % FREES_OF_LOOK)
    return;
  const struct hwi_free_block *first = *owner->lists[class_index], *returned = last_returned(owner, class_index);
  if (exchange->first && first != exchange->first && returned && returned != exchange->returned) {
    set_most(owner, class_index, owner->heap->most_kept[class_index]);
    exchange->counts_left = MOST_COUNTS;
  }
  exchange->first = first;
  exchange->returned = returned;
}

void hwi_owner_reset_kept(struct hwi_owner *owner, size_t class_index)
{
  bool has_kept = owner->kept_left[class_index] < owner->most_kept[class_index];
  set_most(owner, class_index,
           is_short(owner->heap, class_index) && !has_kept ? 0 : owner->heap->most_kept[class_index]);
}

void hwi_owner_end_exchanges(struct hwi_owner *owner)
{
  for (size_t i = 0; is_short(owner->heap, i); i++)
    set_most(owner, i, 0);
}

/* --- going back --- */

/* Blocks of one page. */
struct chain {
  struct hwi_page *page;
  struct hwi_free_block *first, *last;
  size_t count;
};

static void give_chain(const struct hwi_owner *owner, const struct chain *chain)
{
  if (chain->page)
    hwi_owner_give_back(owner, chain->page, chain->first, chain->last, chain->count);
}

/* The program may have overwritten the mark of a free block: the page is found by the address. */
static void add_to_chain(const struct hwi_owner *owner, struct chain chains[CHAINS], struct hwi_page *page,
                         struct hwi_free_block *block)
{
  struct chain *chain = &chains[((uintptr_t)page >> HWI_PAGE_BITS) % CHAINS];
  if (chain->page != page) {
    give_chain(owner, chain);
    *chain = (struct chain){page, NULL, block, 0};
  }
  block->next = chain->first;
  chain->first = block;
  chain->count++;
}

/* Returns the link after the kept blocks, or after the first `most` of them, and how many these are. */
static struct hwi_free_block **after_kept(struct hwi_owner *owner, size_t class_index, size_t most, size_t *count)
{
  const struct hwi_page *own = owner->pages[class_index];
  struct hwi_free_block **at = &owner->own_lists[class_index];
  uintptr_t start = hwi_page_start(own);
  size_t bytes = own->slice_count * HWI_SLICE_BYTES;
  for (*count = 0; *count < most && *at && (uintptr_t)*at - start >= bytes; ++*count)
    at = &(*at)->next;
  return at;
}

void hwi_owner_give_kept(struct hwi_owner *owner, size_t class_index, size_t most)
{
  struct chain chains[CHAINS] = {{NULL}};
  struct hwi_page *own = owner->pages[class_index], *page;
  size_t count, limit = (size_t)owner->most_kept[class_index];
  struct hwi_free_block **at = after_kept(owner, class_index, most, &count), *block, *next;
  owner->kept_left[class_index] = (int8_t)(limit > count ? limit - count : 0);
  for (block = *at; block && (page = hwi_page_of(block)) != own; block = next) {
    next = block->next;
    add_to_chain(owner, chains, page, block);
  }
  *at = block;
  for (int i = 0; i < CHAINS; i++)
    give_chain(owner, &chains[i]);
}

/* If the thread has as many as it may, the next ones go back at once, since a batch may have ended. If it still has
 * all after these (`had_most`), it does not allocate: all go back, and fewer are kept from now on. */
static __attribute__((noinline)) void count_again(struct hwi_owner *owner, size_t class_index, bool had_most)
{
  size_t count, most = (size_t)owner->most_kept[class_index];
  after_kept(owner, class_index, most, &count);
  if (is_short(owner->heap, class_index) && --owner->exchanges[class_index].counts_left == 0) {
    owner->most_kept[class_index] = 0;
    hwi_owner_give_kept(owner, class_index, 0);
  } else if (count <= most / 2) {
    owner->kept_left[class_index] = (int8_t)(most - count);
  } else if (count < most) {
    hwi_owner_give_kept(owner, class_index, most / 2);
  } else if (most > LEAST_KEPT && !had_most) {
    owner->kept_left[class_index] = -GO_BACK;
  } else {
    if (most > LEAST_KEPT)
      owner->most_kept[class_index] = (int8_t)(most / 2 > LEAST_KEPT ? most / 2 : LEAST_KEPT);
    hwi_owner_give_kept(owner, class_index, 0);
  }
}

/* --- keeping --- */

static inline void push(struct hwi_owner *owner, struct hwi_page *page, struct hwi_free_block *block)
{
  hwi_owner_use_own_list(owner, page->class_index);
  block->next = owner->own_lists[page->class_index];
  block->page = page;
  owner->own_lists[page->class_index] = block;
  owner->kept_left[page->class_index]--;
}

static void keep(struct hwi_owner *owner, struct hwi_page *page, struct hwi_free_block *block)
{
  unsigned i = page->class_index;
  push(owner, page, block);
  if (!owner->kept_left[i])
    count_again(owner, i, false);
}

static void push_remote(struct hwi_page *page, struct hwi_free_block *block)
{
  block->page = page;
  hwi_page_push_remote(page, block, block, 1);
}

static void hand_back(struct hwi_owner *owner, struct hwi_page *page, struct hwi_free_block *block)
{
  unsigned i = page->class_index;
  push_remote(page, block);
  if (owner->kept_left[i] < 0 && ++owner->kept_left[i] == 0)
    count_again(owner, i, true);
  if (is_short(owner->heap, i))
    look_for_exchange(owner, i);
}

void hwi_owner_free_others(struct hwi_owner *owner, struct hwi_page *page, struct hwi_free_block *block)
{
  bool may_keep = owner && owner->thread && page->heap == owner->heap;
  if (!may_keep) {
    push_remote(page, block);
    return;
  }
  owner->kept_left[page->class_index] > 0 ? keep(owner, page, block) : hand_back(owner, page, block);
  hwi_owner_pass_by(owner);
}

bool hwi_owner_try_keep(struct hwi_owner *owner, struct hwi_page *page, void *address)
{
  struct hwi_free_block *block = (struct hwi_free_block *)address;
  hwi_arch_prefetch_to_write(block); /* else its mark is read first, and the line is asked for twice */
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
