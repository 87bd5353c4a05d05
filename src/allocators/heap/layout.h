/* layout.h - where everything of a general heap lies, who may write it, and in which order
 *
 * What lies where. All heaps of a process take their memory from one range of addresses, the space, in units of 4
 * MiB. A unit is an arena, which is 64 slices of 64 KiB, or one block begins there that is too large for an arena (a
 * large block; it may be longer than a unit). A table has a descriptor for each slice of the space, so that the
 * descriptor of a block follows from its address by one comparison, a shift and an addition, and a foreign address is
 * never read. A page is one slice of an arena or several, all blocks of one class (a span: a single block), and is
 * described by the descriptor of its first slice. Blocks have no headers; a block whose size is a multiple of a power
 * of two up to 64 KiB is aligned to it.
 *
 * Who owns what. An owner is the state of one thread in one heap: for each class a list of free blocks and a list of
 * pages with room. Only the thread writes its owner and its pages, without atomic instructions, except what is for
 * all threads. When a thread ends, its owner becomes an orphan, which the next new thread takes as it is, unless it
 * has very many pages; until then other threads take single pages of it. Orphans are in a list of the heap: an owner
 * is pushed on its beginning without the lock before it becomes one, and is taken out with the lock.
 *
 * Free blocks. An owner has a list of free blocks for each class, of which an allocation takes the first. Mostly it
 * is the list of the class's first page: a free of an own block pushes it on the list of its page, so that what the
 * thread has freed last is the next one that is given out. It is in the processor's cache then, and blocks that live
 * for a moment leave no holes between those that stay. Nobody counts the first page's blocks meanwhile, until the
 * thread finds that it does not use the class (empty.c). If the thread keeps blocks of other owners' pages (kept.c),
 * the list is one of the owner's own: first those, then what the list of the first page had. When it is empty, the
 * list of the first page is used again. All blocks of an owner's list count as used in their pages. Classes with
 * larger blocks share one limit for their free pages (thread_pages is 0). Of such a class, only kept blocks are in
 * the owner's list; others come one by one from the first page, so that it has a count, and can go back as soon as it
 * is empty.
 *
 * Full pages. A page without a free block is full: it is in the owner's list of these, and its count is 1, so that
 * the fast path of free calls the slow one, as for a page that becomes empty. The second word of each free block is
 * the address of its page's descriptor, and is cleared when the block is given out: a block that has it when it is
 * freed is perhaps free already.
 *
 * Frees by other threads. Blocks that are not kept are pushed on the page's list `remote`. It has their number, so
 * that the owner takes them without following the links, each of which would have to come from another processor. The
 * thread that pushes on an empty list also pushes the page on the inbox of its owner. Only the thread that takes a
 * page from an inbox takes its remote list, so:
 *   - a page with remote blocks is in exactly one inbox, or is about to be put there, unless a fork has ended its
 *     thread;
 *   - its remote blocks count as used until then, so it is neither empty nor given back meanwhile.
 * If the owner is an orphan, the thread that frees takes the page, if it has an owner itself; otherwise the thread
 * that pushed on the orphan's inbox empties the inbox. If the page has got another owner meanwhile, it is passed on
 * to that owner's inbox.
 *
 * Memory orders. Pushes release and takes acquire: the contents of links are seen; a take of `remote` also releases
 * and the next push acquires, since it writes the page's inbox_next, which was read before. The end of an owner (its
 * state, then its inbox) and a push (the inbox, then the state) are sequentially consistent, so that one of the two
 * threads sees the other. page->owner is written only by a thread that has locked the orphan, or that makes the page.
 *
 * Checked frees. If a heap checks each free, no fast path finds anything: its pages have no `thread`
 * (process_owner.h), so that no thread keeps blocks of others either, and `class_of` of its owners is the empty list.
 * given.c knows which blocks are given out.
 *
 * The locks. Each heap has one, for its slices, its large blocks, and its list of owners; it is taken once for many
 * small blocks. With it, a thread may take the lock of the space, for units and the table of descriptors; meanwhile,
 * signals wait, except those of its own faults. A lock of all heaps protects their list, and is taken before the
 * others: a thread has at most one heap's lock, except during a fork, which takes all of them. System calls that take
 * longer for more memory are made without a lock, where that is possible (returns.c). A fork closes the locks
 * (lock.h). forks.c says what the child does with what other threads were doing. A heap of one thread may have no
 * lock: then nobody else looks at it, and its thread works on while another one forks.
 */
#ifndef HWI_ALLOCATORS_HEAP_LAYOUT_H
#define HWI_ALLOCATORS_HEAP_LAYOUT_H

#include <assert.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocators/heap/classes.h"
#include "allocators/lock.h"
#include "base/load_word.h"
#include "heapwright/heap.h"

enum {
  HWI_UNIT_BITS = 22,
  HWI_SLICES = 1 << (HWI_UNIT_BITS - (int)HWI_SLICE_BITS), /* of a unit */
  HWI_PAGE_BITS = 7,                                       /* the size of a descriptor */
  HWI_MOST_SPAN_SLICES = 32,                               /* larger blocks are large blocks */
  HWI_GRANULE_BITS = 4,
  HWI_RECIPROCAL_BITS = 31,
  HWI_LINE_BYTES = 64,
  HWI_FEWEST_FREES_UNTIL_ASK = 8, /* in a page without a count (empty.c) */
  HWI_MOST_FREES_UNTIL_ASK = 250,
  HWI_MOST_KEPT = 64,                                     /* blocks of other threads, of a class; an int8_t */
  HWI_SHORT_CLASSES = HWI_LINE_BYTES / HW_HEAP_ALIGN - 1, /* of blocks shorter than a line, at most */
  HWI_SYSTEM_PAGE_BYTES = 4096,
  HWI_HUGE_PAGE_BYTES = 2 << 20,
  HWI_LARGE_HEAP_BYTES =
      256 << 20, /* from here on, free memory goes back sooner; huge pages are not refused if so much is used */
};

#define HWI_UNIT_BYTES ((size_t)1 << HWI_UNIT_BITS)
#define HWI_MOST_ARENA_BYTES ((size_t)1 << 30) /* that are taken at a time, and their alignment */
#define HWI_SPAN_BYTES (HWI_MOST_SPAN_SLICES * HWI_SLICE_BYTES)
#define HWI_MOST_BLOCKS (HWI_SPAN_BYTES / HW_HEAP_ALIGN) /* of a page; a list may have HWI_MOST_KEPT more */
#define HWI_GRANULES (HW_HEAP_LARGEST_CLASS_BYTES >> HWI_GRANULE_BITS)

struct hwi_free_block {
  struct hwi_free_block *next;
  struct hwi_page *page;
};

/* HWI_PAGE_PENDING: slices that are neither free nor used, while a system call for them is made without the lock. */
enum hwi_page_kind { HWI_PAGE_NONE, HWI_PAGE_SMALL, HWI_PAGE_SPAN, HWI_PAGE_LARGE, HWI_PAGE_PENDING };

/* Of an arena. GETS: the system may give them by itself; MAY_BECOME: if its setting changes. RESERVED: the arena is in
 * reserved ones, of which no part goes back. */
enum hwi_huge_pages { HWI_NEVER_HUGE, HWI_MAY_BECOME_HUGE, HWI_GETS_HUGE, HWI_RESERVED_HUGE };

/* An arena is in two lists, by its free slices, and by those that are kept, which are free and touched. What belongs
 * to each is in another descriptor of the arena: that of its first slice, and that of the second one. */
enum hwi_arena_order { HWI_BY_FREE, HWI_BY_KEPT, HWI_ARENA_ORDERS };

/* In a list of arenas. */
struct hwi_arena_links {
  struct hwi_page *next, *prev;
};

/* The first line is read by all threads that free blocks of the page, and rarely written. The second one is written
 * by most frees. */
struct hwi_page {
  uintptr_t thread; /* of the owner, for the fast path of free; 0: none */
  struct hwi_owner *owner;
  size_t block_bytes;
  uint32_t reciprocal; /* of the granules of a block, in units of 2^-31, rounded up */
  uint32_t carved_count, capacity;
  uint8_t kind;
  uint8_t class_index, slice_count;
  uint8_t back;         /* slices from the first slice of the page, in all descriptors of the page */
  struct hw_heap *heap; /* of an arena's first slice and a large block also: NULL if the unit is unused */
  /* Of an arena, in an order; with the lock. A bit for each slice: those that are free, and in the descriptor of the
   * second order those that perhaps are present in memory. */
  uint64_t slices;
  uint8_t group;      /* how many adjoining ones it has, at most: its list */
  uint8_t huge_pages; /* of an arena: enum hwi_huge_pages; atomic */
  bool touches_ahead; /* of a class: two pages of the system are touched at once (pages.c) */
  bool is_clean;      /* never written since the system gave the memory; of a class: when the page was taken */
  /* Of the owner; of spans and large blocks: of the thread that has the lock. */
  alignas(HWI_LINE_BYTES) struct hwi_free_block *free;
  struct hwi_page *next, *prev;
  /* Blocks given out or in the owner's list; 1 if is_full. While its list is the owner's: frees until the thread asks
   * whether a look is due. */
  uint32_t count;
  bool is_full;
  union {
    bool is_spare; /* of a class: empty, and kept by the owner; the first of its class only if classes share a limit */
    bool has_room; /* of a span: longer than was asked, so that it can grow */
  };
  bool has_asked; /* of a class, without a count: whether a look is due, since the last one */
  union {
    bool was_empty; /* of a class: at the last look, and not used since */
    bool is_coming; /* pending: to be made present; otherwise it goes back to the system */
  };
  /* Of all threads. */
  alignas(8) uint64_t remote; /* hwi_remote */
  struct hwi_page *inbox_next;
  struct hwi_arena_links links;
};

static_assert(sizeof(struct hwi_page) == 1 << HWI_PAGE_BITS, "descriptors are found by shifting");
static_assert(__atomic_always_lock_free(sizeof(uint64_t), 0), "threads change `remote` by one instruction");

/* HWI_OWNER_HELD: an orphan during a fork. HWI_OWNER_GONE: a fork has ended its thread, perhaps between two changes:
 * nobody takes it. */
enum hwi_owner_state { HWI_OWNER_LIVE, HWI_OWNER_ORPHAN, HWI_OWNER_LOCKED, HWI_OWNER_HELD, HWI_OWNER_GONE };

/* How far a list of free blocks was followed that is too long for one look (empty.c). */
struct hwi_followed {
  const struct hwi_free_block *first, *next; /* NULL: no list */
  uint32_t count;
};

/* What shows that a thread and others free short blocks of each other (kept.c). */
struct hwi_exchange {
  const struct hwi_free_block *first;    /* in the list of the class, when it was looked last, */
  const struct hwi_free_block *returned; /* and what others had freed last then */
  uint8_t frees;                         /* of others */
  uint16_t counts_left;                  /* how often kept blocks are counted until it must begin anew */
};

/* lists[i] is &pages[i]->free, and own_lists[i] is NULL; or it is &own_lists[i], and the page has a count. */
struct hwi_owner {
  struct hwi_free_block **lists[HW_HEAP_MOST_CLASSES + 1]; /* of free blocks of each class; the last one is empty */
  struct hwi_page *pages[HW_HEAP_MOST_CLASSES];            /* the first with room of each class, or &hwi_no_page */
  /* By size in granules: a copy of the heap's. If each free is checked, the last list, so that no fast path finds a
   * block. */
  uint8_t class_of[HWI_GRANULES + 1];
  struct hwi_free_block *own_lists[HW_HEAP_MOST_CLASSES]; /* kept blocks, then blocks of the first page */
  struct hwi_page *full;                                  /* pages without room, or NULL */
  struct hw_heap *heap;
  struct hwi_owner *next;                      /* in the heap's list; owners are never removed */
  struct hwi_owner *next_orphan, *prev_orphan; /* in the ring of orphans; the first one also in `new_orphans` */
  struct hwi_free_block *saved; /* what other threads had freed before a fork; counts as used (forks.c) */
  const void *key;              /* identifies the live thread; NULL: none */
  uintptr_t thread;             /* what its pages have as `thread` */
  size_t page_count;
  uint16_t spare_counts[HW_HEAP_MOST_CLASSES]; /* pages that are spare, without those of the classes of shared_bytes */
  size_t shared_bytes;                    /* touched bytes of spare pages of classes that share one limit for them */
  uint64_t looked_ns;                     /* when the thread looked for empty pages; 0: not yet */
  uint8_t next_shared;                    /* the class of these whose spare page goes back next */
  uint8_t slow_calls, looks;              /* how many so far: now and then, the thread looks for empty pages */
  uint8_t next_looked;                    /* the class with which the next look begins */
  uint8_t frees_until_ask;                /* in a page without a count; one more after each time */
  bool has_left_over;                     /* empty pages that are to go back when the end of a fork opens the lock */
  int8_t most_kept[HW_HEAP_MOST_CLASSES]; /* how many blocks of others are kept, at most the heap's number, */
  int8_t kept_left[HW_HEAP_MOST_CLASSES]; /* and how many more may be added until they are counted (kept.c) */
  struct hwi_exchange exchanges[HWI_SHORT_CLASSES];
  alignas(HWI_LINE_BYTES) struct hwi_page *inbox;
  uint32_t state;
  struct hwi_followed followed; /* of the page with whose class the next look begins */
};

static_assert(sizeof(struct hwi_owner) <= HWI_SYSTEM_PAGE_BYTES, "a thread needs one page of memory for it");

/* Arenas by the number of adjoining slices of a kind that they have, of all such groups the largest one's. */
struct hwi_arena_lists {
  uint64_t room;                          /* bit i: list i + 1 is not empty */
  struct hwi_page *lists[HWI_SLICES + 1]; /* by this number; the first descriptors */
};

/* The blocks of a heap that are malloc's (libc_blocks.c). */
struct hwi_libc_slot {
  uintptr_t word; /* the address, inverted; 0: none */
  size_t bytes;   /* usable ones */
};

struct hwi_libc_blocks {
  struct hwi_libc_slot *slots;
  size_t slot_count, used_count; /* used: also by blocks that are gone */
};

struct hw_heap {
  uint64_t generation;          /* differs for every heap of the process */
  struct hw_heap_config config; /* complete; its lists are the next three members */
  size_t class_bytes[HW_HEAP_MOST_CLASSES];
  size_t page_bytes[HW_HEAP_MOST_CLASSES];
  size_t thread_pages[HW_HEAP_MOST_CLASSES];
  int8_t most_kept[HW_HEAP_MOST_CLASSES]; /* blocks of others, by a thread */
  size_t class_count;
  uint8_t class_of[HWI_GRANULES + 1];
  bool is_of_process;
  bool is_alive;               /* false: it was destroyed; then all of this is zeros, which mostly cannot be written */
  bool has_lock;               /* false: its config wants none, or it is not alive */
  bool uses_libc;              /* all blocks are in libc_blocks */
  uint32_t set_count;          /* how often threads have it set or pushed; atomic */
  struct hwi_owner *sole;      /* of all threads, if `threads` is central or single; else NULL */
  struct hw_heap *next, *prev; /* in the list of all heaps */
  alignas(HWI_LINE_BYTES) struct hwi_lock lock;
  struct hwi_lock *lock_before; /* what hwi_heap_lock_of_thread was before the thread took it */
  /* Below: protected by the lock; the list of owners is read without it, and new_orphans is atomic. */
  alignas(HWI_LINE_BYTES) struct hwi_owner *owners;
  size_t owner_count;
  struct hwi_owner *new_orphans; /* not in the ring yet */
  struct hwi_owner *orphans;     /* a ring; a search begins here. NULL: none */
  struct hwi_arena_lists arenas[HWI_ARENA_ORDERS];
  struct hwi_page *large, *cached;        /* large blocks: allocated; free and kept, the newest first */
  struct hwi_page *pending_slices;        /* slices, and */
  struct hwi_page *pending_units;         /* arenas and large blocks, that wait until the lock is left (returns.c) */
  struct hwi_page *settled;               /* slices for which the calls were made; threads push without the lock */
  size_t next_arena_bytes;                /* that are taken the next time */
  size_t taken_bytes;                     /* in slices of pages */
  size_t kept_bytes;                      /* in free slices that are touched, and in free large blocks */
  size_t least_kept_bytes;                /* the least of it since then: */
  uint64_t excess_since_ns;               /* when memory was last returned, or could have been */
  size_t least_idle_bytes;                /* the least of kept_bytes since then: */
  uint64_t idle_since_ns;                 /* when idle memory could have been returned */
  uint64_t needed_ns;                     /* when memory was last taken */
  uint64_t returned_ns;                   /* when memory was last returned, or that was found to be a mistake */
  size_t returned_bytes, new_bytes;       /* returned lately; taken from the system since */
  unsigned patience;                      /* after a mistake: the times and shares are 2 to this power as large */
  size_t mapped_bytes, peak_mapped_bytes; /* without descriptors */
  size_t large_bytes;                     /* in allocated large blocks */
  struct hwi_libc_blocks libc_blocks;
  uint8_t refusals; /* memory.c: what the system has refused */
  /* Pages of each class now, at most so far, and all that were taken; the last: spans and large blocks. */
  uint32_t page_counts[HW_HEAP_MOST_CLASSES + 1], peak_page_counts[HW_HEAP_MOST_CLASSES + 1];
  size_t taken_page_counts[HW_HEAP_MOST_CLASSES + 1];
  size_t given_counts[HW_HEAP_MOST_CLASSES], peak_given_counts[HW_HEAP_MOST_CLASSES]; /* given.c; atomic */
};

/* The descriptor of slice i of the space is pages[i]. `bytes` grows, until hwi_space_end; up to it, all descriptors can
 * be read. While it is 0, the other members may change. */
struct hwi_space {
  uintptr_t start;
  size_t bytes;
  struct hwi_page *pages;
  /* Not in a line with what each free reads. */
  alignas(HWI_LINE_BYTES) struct hwi_page *settled;   /* unmapped arenas and large blocks, as in a heap */
  alignas(HWI_LINE_BYTES) struct hwi_lock heaps_lock; /* of the list of heaps */
  alignas(HWI_LINE_BYTES) struct hwi_lock lock;       /* of units and the table */
};

extern struct hwi_space hwi_space __attribute__((visibility("hidden")));
extern struct hwi_page hwi_no_page __attribute__((visibility("hidden")));
extern struct hw_heap *hwi_heaps __attribute__((visibility("hidden")));

/* The thread is in malloc or free: it may not wait for the lock while a fork has closed it, whatever the heap. */
extern HWI_THREAD_LOCAL hwi_thread_flag hwi_is_in_malloc __attribute__((visibility("hidden")));

static inline size_t hwi_space_offset(const void *address)
{
  return (uintptr_t)address - hwi_space.start;
}

static inline bool hwi_is_in_space(const void *address)
{
  return hwi_space_offset(address) < HWI_LOAD_WORD(hwi_space.bytes);
}

/* Of an address in the space: the descriptor of its slice. */
static inline struct hwi_page *hwi_slice_of(const void *address)
{
  return &hwi_space.pages[hwi_space_offset(address) >> HWI_SLICE_BITS];
}

/* Of an address in the space: the descriptor of its page. */
static inline struct hwi_page *hwi_page_of(const void *address)
{
  struct hwi_page *slice = hwi_slice_of(address);
  return slice - slice->back;
}

/* The first descriptor of the unit of a descriptor. */
static inline struct hwi_page *hwi_unit_of(const struct hwi_page *page)
{
  return &hwi_space.pages[(size_t)(page - hwi_space.pages) & ~(size_t)(HWI_SLICES - 1)];
}

static inline uintptr_t hwi_page_start(const struct hwi_page *page)
{
  return hwi_space.start + ((size_t)(page - hwi_space.pages) << HWI_SLICE_BITS);
}

/* What other threads have freed of a page, in one word: how many blocks, and the offset of the first one, in the
 * lower half. 0: none. */
static inline uint64_t hwi_remote(const struct hwi_page *page, const struct hwi_free_block *first, size_t count)
{
  return (uint64_t)count << 32 | ((uintptr_t)first - hwi_page_start(page));
}

static inline uint32_t hwi_remote_count(uint64_t remote)
{
  return (uint32_t)(remote >> 32);
}

static inline struct hwi_free_block *hwi_remote_first(const struct hwi_page *page, uint64_t remote)
{
  return remote ? (struct hwi_free_block *)(hwi_page_start(page) + (uint32_t)remote) : NULL;
}

/* The page is made: who looks at all pages sees what was written of it before, also without the lock and in the child
 * of a fork. */
static inline void hwi_page_set_kind(struct hwi_page *page, enum hwi_page_kind kind)
{
  __atomic_store_n(&page->kind, (uint8_t)kind, __ATOMIC_RELEASE);
}

/* The unit is one of this heap from now on; NULL: it is unused. Other heaps read this at the same time, without the
 * lock: a link that they follow may be any address. */
static inline void hwi_unit_set_heap(struct hwi_page *unit, struct hw_heap *heap)
{
  __atomic_store_n(&unit->heap, heap, __ATOMIC_RELAXED);
}

/* Of the first descriptor of an arena. */
static inline uint64_t hwi_free_slices(const struct hwi_page *arena)
{
  return arena[HWI_BY_FREE].slices;
}

static inline uint64_t hwi_touched_slices(const struct hwi_page *arena)
{
  return arena[HWI_BY_KEPT].slices;
}

static inline enum hwi_huge_pages hwi_huge_pages_of(const struct hwi_page *arena)
{
  return (enum hwi_huge_pages)__atomic_load_n(&arena->huge_pages, __ATOMIC_RELAXED);
}

static inline size_t hwi_smaller(size_t a, size_t b)
{
  return a < b ? a : b;
}

/* The next multiple of a unit. */
static inline size_t hwi_units_up(size_t bytes)
{
  return (bytes + HWI_UNIT_BYTES - 1) & ~(HWI_UNIT_BYTES - 1);
}

static inline unsigned hwi_slices_for(size_t bytes)
{
  return (unsigned)((bytes + HWI_SLICE_BYTES - 1) >> HWI_SLICE_BITS);
}

static inline bool hwi_heap_is_central(const struct hw_heap *heap)
{
  return heap->config.threads == HW_HEAP_CENTRAL;
}

/* Returns whether memory is made present when it is mapped. */
static inline bool hwi_config_makes_present(const struct hw_heap_config *config)
{
  return config->touch || config->lock_memory;
}

static inline bool hwi_config_wants_huge_pages(const struct hw_heap_config *config)
{
  return config->pages == HW_HEAP_PAGES_TRANSPARENT || config->pages == HW_HEAP_PAGES_HUGE;
}

/* Returns the number of the block of a page of a class that is at this offset. */
static inline size_t hwi_page_index(const struct hwi_page *page, size_t off)
{
  return (size_t)((off >> HWI_GRANULE_BITS) * (uint64_t)page->reciprocal >> HWI_RECIPROCAL_BITS);
}

/* Returns whether the list of the page is that of its owner, so that nobody counts its blocks. Other threads may be
 * changing the page, which may have no owner yet or any more. */
static inline __attribute__((no_sanitize("thread"))) bool hwi_page_has_list_of_owner(const struct hwi_page *page)
{
  const struct hwi_owner *owner = __atomic_load_n(&page->owner, __ATOMIC_ACQUIRE);
  return owner && owner->lists[page->class_index] == &page->free;
}

/* Returns a link of a list that another thread may be changing, or what the program has written there, if the block was
 * given out meanwhile: it is checked before it is followed. Fast paths and programs write such words without atomic
 * instructions, so this is a usual load of one word that the thread sanitizer does not see. clang's sees atomic loads
 * in all functions. */
static inline __attribute__((no_sanitize("thread"))) struct hwi_free_block *hwi_link_load(
    struct hwi_free_block *const *link)
{
  return *(struct hwi_free_block *const volatile *)link;
}

/* How much of it was touched since the page was taken; the rest may be in memory, too. */
static inline size_t hwi_page_touched_bytes(const struct hwi_page *page)
{
  return page->carved_count * page->block_bytes;
}

/* Returns whether one limit is for the free pages of this class and of others. */
static inline bool hwi_owner_shares_spares(const struct hwi_owner *owner, size_t class_index)
{
  return owner->heap->thread_pages[class_index] == 0;
}

/* --- memory.c: with the lock of the heap --- */

/* As hwi_space_take, with the pages and the node of the heap's config. */
uintptr_t hwi_heap_map_arena(struct hw_heap *heap, size_t bytes, enum hwi_huge_pages *pages);
uintptr_t hwi_heap_map_large(struct hw_heap *heap, size_t bytes, size_t align);

/* A large block has got another length: a long one may have huge pages, also if it was short. */
void hwi_heap_choose_pages_again(struct hw_heap *heap, uintptr_t start, size_t old_bytes, size_t bytes);

/* For such memory, if the heap's config wants it. To be called without the lock if possible. */
void hwi_heap_make_present(struct hw_heap *heap, uintptr_t start, size_t bytes);

/* --- arenas.c: with the lock --- */

/* Returns a page of `slice_count` slices, or NULL if there is no memory. Its blocks are not set up. If *is_coming,
 * new memory is made present when the lock is left; then the call is to be repeated. */
struct hwi_page *hwi_arena_take(struct hw_heap *heap, unsigned slice_count, bool *is_coming);
void hwi_arena_give(struct hwi_page *page);

/* Makes a span longer or shorter where it is. Returns false if there is no room after it. */
bool hwi_arena_resize(struct hwi_page *page, unsigned slice_count);

/* Free slices become pending, until at most `most_bytes` are kept. If it `is_for_small`, only those of arenas that
 * have small pages. */
void hwi_arena_drop_kept(struct hw_heap *heap, size_t most_bytes, bool is_for_small);

/* Arenas without a page become pending, until at most `most_bytes` are kept. `least_bytes` of them stay. */
void hwi_arena_unmap_free(struct hw_heap *heap, size_t most_bytes, size_t least_bytes);
void hwi_arena_unmap_all(struct hw_heap *heap);

/* Pending slices of an arena are free from now on. */
void hwi_arena_settle(struct hwi_page *page);

void hwi_heap_count_mapped(struct hw_heap *heap, size_t bytes);
void hwi_heap_count_page(struct hw_heap *heap, size_t class_index, bool is_taken);

/* --- returns.c: with the lock --- */

/* Adds to a list of what is settled, without the lock. */
void hwi_page_push_settled(struct hwi_page **list, struct hwi_page *page);

/* Slices for which the system calls were made are free again. */
void hwi_heap_collect_settled(struct hw_heap *heap);

/* A unit, with its descriptor's block_bytes, is to be unmapped when the lock is left. */
void hwi_heap_unmap_later(struct hw_heap *heap, struct hwi_page *unit);

/* Free memory is to be returned to the system when the lock is left, until at most `most_bytes` are kept. If it
 * `is_for_small`, arenas that may have huge pages stay as they are, unless they are free. */
void hwi_heap_trim(struct hw_heap *heap, size_t most_bytes, bool is_for_small);

/* Returns all free memory of all heaps to the system, except what threads have: another request of the calling thread
 * on `its` may then succeed. Other heaps without a lock are left alone. To be called without the lock. In malloc, it
 * does nothing while a fork has closed the lock. */
void hwi_heaps_return_all(const struct hw_heap *its);

/* Calls `see` for all heaps, none of which begins or is destroyed meanwhile. */
void hwi_heaps_each(void (*see)(void *context, struct hw_heap *heap), void *context);

/* Memory is taken: of what was kept, and from the system. */
void hwi_heap_count_taken(struct hw_heap *heap, size_t kept_bytes, size_t new_bytes);

/* After memory has become free: returns it to the system if it is too much, or has been for long. */
void hwi_heap_pass_by(struct hw_heap *heap);

/* --- large.c: with the lock --- */

/* *new_bytes: how many bytes at the end of the block are from the system, and are to be made present. */
void *hwi_large_alloc(struct hw_heap *heap, size_t bytes, size_t align, size_t *new_bytes);
void *hwi_large_resize(struct hw_heap *heap, struct hwi_page *page, size_t bytes, bool may_move,
                       size_t *new_bytes); /* NULL: unchanged */
void hwi_large_free(struct hw_heap *heap, struct hwi_page *page);

/* Returns the length of a large block for a request. Without the lock, too. */
size_t hwi_large_length(const struct hw_heap *heap, size_t bytes);

/* Returns whether a block of `has` bytes is not made shorter for a request that is too large for an arena, too: the
 * heap returns nothing, and it needs as many units. */
bool hwi_large_stays(const struct hw_heap *heap, size_t has, size_t bytes);
void hwi_large_drop_cached(struct hw_heap *heap, size_t most_kept_bytes);
void hwi_large_unmap_all(struct hw_heap *heap);

/* --- owners.c --- */

/* Returns an owner for the calling thread, from an ended one if possible: that of the block which it frees, unless
 * `block` is NULL, or any. Returns NULL if there is no memory, or the lock is closed. */
struct hwi_owner *hwi_owner_begin(struct hw_heap *heap, const void *key, uintptr_t thread, const void *block);

/* Makes an owner that is all zero one without blocks and pages. */
void hwi_owner_clear(struct hwi_owner *owner);

/* The thread ends: its owner is an orphan from then on. */
void hwi_owner_end(struct hwi_owner *owner);

/* Takes back what other threads freed; the caller has the owner. The second function does so only if there is any, and
 * not within a fork. */
void hwi_owner_drain(struct hwi_owner *owner);
void hwi_owner_drain_if_needed(struct hwi_owner *owner);
bool hwi_owner_has_to_drain(const struct hwi_owner *owner);
void hwi_owner_drain_orphans(struct hw_heap *heap);

/* Takes a page with room from an orphan. Looks at a few orphans only, in turn. Returns false if these have none, or
 * the lock is closed. */
bool hwi_owner_adopt_page(struct hwi_owner *owner, unsigned class_index);

/* Takes a page of which the thread frees a block. Returns false if it is not an orphan's. */
bool hwi_owner_adopt(struct hwi_owner *owner, struct hwi_page *page);

/* `count` blocks of one page, linked from the first to the last. */
void hwi_page_push_remote(struct hwi_page *page, struct hwi_free_block *first, struct hwi_free_block *last,
                          size_t count);

/* The same for a page that may have become one of the calling thread's `owner` meanwhile. The list ends after the
 * last block. */
void hwi_owner_give_back(const struct hwi_owner *owner, struct hwi_page *page, struct hwi_free_block *first,
                         struct hwi_free_block *last, size_t count);

/* Changes all orphans from one state to the other. */
void hwi_owner_change_orphans(struct hw_heap *heap, enum hwi_owner_state from, enum hwi_owner_state to);

/* With the lock: all orphans are in the ring from then on. */
void hwi_heap_collect_orphans(struct hw_heap *heap);

/* In the child of a fork: only owners in this state are in the ring. */
void hwi_heap_list_orphans(struct hw_heap *heap, enum hwi_owner_state state);

/* --- kept.c: the caller has the owner --- */

/* Returns how many blocks of a class a thread keeps at most. */
size_t hwi_most_kept(size_t block_bytes);

/* The thread has got a new list of its own blocks: it keeps none of others. */
void hwi_owner_reset_kept(struct hwi_owner *owner, size_t class_index);

/* The thread ends, and has given all lists back: who takes the owner has not exchanged blocks yet. */
void hwi_owner_end_exchanges(struct hwi_owner *owner);

/* Hands kept blocks back to their pages, except the `most` that were freed last. */
void hwi_owner_give_kept(struct hwi_owner *owner, size_t class_index, size_t most);

/* Frees a block of another owner's page: keeps it, or hands it back. `owner` is the calling thread's in any heap, or
 * NULL. */
void hwi_owner_free_others(struct hwi_owner *owner, struct hwi_page *page, struct hwi_free_block *block);

/* The same for free. `page` is the descriptor of the block's slice. Returns false if it is not a page of another
 * living thread, or `owner` has no heap yet; then nothing was done. */
bool hwi_owner_try_free_others(struct hwi_owner *owner, struct hwi_page *page, void *block);

/* The same, and false also if the block is not kept. As on the fast path, an address inside a block is not always
 * found. */
bool hwi_owner_try_keep(struct hwi_owner *owner, struct hwi_page *page, void *block);

/* --- pages.c: the caller has the owner --- */

/* The list of the owner is its own one from now on; what the list of the first page has is there. */
void hwi_owner_use_own_list(struct hwi_owner *owner, size_t class_index);

/* From an orphan that the caller has locked to the caller's owner. */
void hwi_page_move(struct hwi_page *page, struct hwi_owner *owner);
bool hwi_page_has_room(const struct hwi_page *page);

/* It is in no list of the owner any more. */
void hwi_page_leave_owner(struct hwi_page *page);

/* The page has free blocks again, but its count is still that of a page without any. */
void hwi_page_end_full(struct hwi_page *page);
void *hwi_owner_alloc(struct hwi_owner *owner, size_t bytes);

/* From the pages that the owner has, without the lock, and without memory of a page of which nothing was used before.
 * NULL: they have nothing free, for now. `bytes` is at most HW_HEAP_LARGEST_CLASS_BYTES. */
void *hwi_owner_alloc_own(struct hwi_owner *owner, size_t bytes);
void *hwi_owner_alloc_aligned(struct hwi_owner *owner, size_t align, size_t bytes);
void *hwi_owner_alloc_zeroed(struct hwi_owner *owner, size_t align, size_t bytes);

/* --- empty.c: the caller has the owner --- */

/* Makes up for the change of a page whose count has become 0. It may be given back then. The second function is for a
 * free by the owner's thread, which may look for empty pages, too. */
void hwi_page_settle(struct hwi_page *page);
__attribute__((noinline)) void hwi_page_settle_free(struct hwi_page *page);

/* All free blocks of the owner's lists go back to their pages, and all empty pages to the heap. */
void hwi_owner_give_empty_pages(struct hwi_owner *owner);

/* Empty pages that stayed while a fork had closed the lock go back, except the first page of each class. */
void hwi_owner_give_left_over(struct hwi_owner *owner);

/* To be called by the owner's thread on its slow paths, when it has no page or list in its hands. Now and then, it
 * looks for pages that became empty without being counted, and whether the heap is to return memory. */
void hwi_owner_pass_by(struct hwi_owner *owner);

/* --- frees.c --- */

/* HWI_FREE_CLOSED: a fork has closed the lock, which this block needs; nothing was done. */
enum hwi_free_result { HWI_FREE_CLOSED = -1 };

/* For free: a block of a page of the calling thread, which has this value. Returns false if the next function is
 * needed; then nothing was done. */
bool hwi_thread_free(uintptr_t thread, void *address);

/* `owner` is the calling thread's, or NULL. Returns a fault, or HWI_FREE_CLOSED. */
int hwi_owner_free(struct hw_heap *heap, struct hwi_owner *owner, void *block);

/* Returns the heap whose memory has this address, or NULL. */
struct hw_heap *hwi_heap_at(const void *address);

/* Returns NULL for an address at which no block of the heap begins, with the fault. */
struct hwi_page *hwi_heap_page_of(const struct hw_heap *heap, const void *address, enum hw_heap_fault *fault);

/* Returns 0 for an address that is not an allocated block, with the fault. */
size_t hwi_heap_block_bytes(struct hw_heap *heap, const void *block, enum hw_heap_fault *fault);

/* Returns whether a link of a page's list may be followed: it is the address of a block of the page. */
bool hwi_page_has_block(const struct hwi_page *page, const void *block);

/* --- given.c: for a page and one of its blocks; but for the first function, only if each free is checked --- */

/* Returns how many blocks have room in a page of the heap. */
uint32_t hwi_page_capacity(const struct hw_heap *heap, size_t page_bytes, size_t block_bytes);

/* No block of a new page is given out. */
void hwi_given_begin(const struct hwi_page *page);

void hwi_given_add(const struct hwi_page *page, const void *block);

/* Returns whether the block was given out until now. */
bool hwi_given_remove(const struct hwi_page *page, const void *block);
bool hwi_given_has(const struct hwi_page *page, const void *block);

/* --- forks.c --- */

/* Returns whether the thread has a lock of heaps: a signal handler has interrupted a call. */
bool hwi_heaps_has_lock(void);

void hwi_heaps_before_fork(void);

/* `key` is that of the calling thread. When the locks are open, `settle` is called, with that of the list of heaps; but
 * not if the fork was within another one, by a signal handler. NULL: nothing is. */
void hwi_heaps_after_fork(bool is_child, const void *key, void (*settle)(void));

#endif
