/* layout.h - where everything of a general heap lies, who may write it, and in which order
 *
 * What lies where. An arena is 4 MiB of address space, aligned to its size, in slices of 64 KiB. The first slice has the
 * descriptors of the others. A page is one slice or several, all blocks of one size (a span: a single block), and is
 * described by the descriptor of its first slice. So the page of a block follows from its address by masking. Blocks
 * have no headers; a block whose size is a multiple of a power of two up to 64 KiB is aligned to it. A bitmap of the
 * address space says where arenas are, so that a foreign address is never read. Larger blocks have mappings of their
 * own, listed in a table.
 *
 * Who owns what. An owner is the state of one thread in one heap: for each class a list of pages with room. Only the
 * thread writes its owner and the first line of its pages, without atomic instructions. When a thread ends, its owner
 * becomes an orphan, which the next new thread takes as it is; until then other threads take single pages of it.
 *
 * Frees by other threads. The block is pushed on the page's list `remote`. Who pushes on an empty list also pushes the
 * page on the inbox of its owner. Only the thread that takes a page from an inbox takes its remote list, so:
 *   - a page with remote blocks is in exactly one inbox, or is about to be put there;
 *   - its remote blocks count as used until then, so it is neither empty nor given back meanwhile.
 * If the owner is an orphan, the thread that pushed on its inbox empties the inbox. If the page has got another owner
 * meanwhile, it is passed on to that owner's inbox.
 *
 * Memory orders. Pushes release and takes acquire: the contents of links are seen. The end of an owner (its state, then
 * its inbox) and a push (the inbox, then the state) are sequentially consistent, so that one of the two threads sees
 * the other. page->owner is written only by a thread that has locked the orphan, or that makes the page.
 *
 * Lists. A page without room is full: it is in no list, and its count is 1, so that the fast path of free calls the
 * slow one, as for a page that becomes empty. The second word of each free block is the address of its page's
 * descriptor, and is cleared when the block is given out: a block that has it when it is freed is perhaps free already.
 */
#ifndef HWI_ALLOCATORS_HEAP_LAYOUT_H
#define HWI_ALLOCATORS_HEAP_LAYOUT_H

#include <assert.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocators/heap/heap_lock.h"
#include "heapwright/heap.h"

enum {
  HWI_ARENA_BITS = 22,
  HWI_SLICE_BITS = 16,
  HWI_SLICES = 1 << (HWI_ARENA_BITS - HWI_SLICE_BITS),
  HWI_PAGE_BITS = 7, /* the size of a descriptor */
  HWI_ADDRESS_BITS = 47,
  HWI_MOST_SPAN_SLICES = 16, /* larger blocks get their own mapping */
  HWI_LARGE_PAGE_SLICES = 4, /* of classes of which fewer than 16 fit in a slice */
  HWI_GRANULE_BITS = 4,
  HWI_LINE_BYTES = 64,
  HWI_SYSTEM_PAGE_BYTES = 4096,
};

#define HWI_ARENA_BYTES ((size_t)1 << HWI_ARENA_BITS)
#define HWI_SLICE_BYTES ((size_t)1 << HWI_SLICE_BITS)
#define HWI_SPAN_BYTES (HWI_MOST_SPAN_SLICES * HWI_SLICE_BYTES)
#define HWI_GRANULES (HW_HEAP_LARGEST_CLASS_BYTES >> HWI_GRANULE_BITS)

struct hwi_free_block {
  struct hwi_free_block *next;
  struct hwi_page *page;
};

struct hwi_page {
  /* Of the owner. */
  struct hwi_free_block *free;
  uint32_t count; /* blocks given out; 1 if is_full */
  uint32_t carved_count, capacity;
  uint32_t block_bytes; /* 0: no page begins here */
  struct hwi_page *next, *prev;
  uint8_t class_index, slice_count;
  uint8_t back; /* slices from the first slice of the page, in all descriptors of the page */
  bool is_full, is_span;
  bool is_clean; /* the blocks beyond carved_count are zero */
  /* Of all threads. */
  alignas(HWI_LINE_BYTES) struct hwi_owner *owner;
  struct hwi_free_block *remote;
  struct hwi_page *inbox_next;
};

static_assert(sizeof(struct hwi_page) == 1 << HWI_PAGE_BITS, "pages are found by shifting");

/* In place of the first slice's descriptor. Protected by the heap's lock. */
struct hwi_arena {
  struct hw_heap *heap;
  struct hwi_arena *next;
  uint64_t free_slices, touched_slices; /* a bit for each slice */
};

static_assert(sizeof(struct hwi_arena) <= sizeof(struct hwi_page), "the arena takes one descriptor");

enum hwi_owner_state { HWI_OWNER_LIVE, HWI_OWNER_ORPHAN, HWI_OWNER_LOCKED };

struct hwi_owner {
  struct hwi_page *pages[HW_HEAP_MOST_CLASSES]; /* the first with room of each class, or &hwi_no_page */
  uint8_t class_of[HWI_GRANULES + 1];           /* by size in granules; a copy of the heap's */
  struct hw_heap *heap;
  struct hwi_owner *next; /* in the heap's list; owners are never removed */
  const void *thread;     /* identifies the live thread */
  alignas(HWI_LINE_BYTES) struct hwi_page *inbox;
  uint32_t state;
};

struct hwi_large_block {
  uintptr_t start; /* 0: an unused entry */
  size_t bytes;
};

struct hw_heap {
  uint64_t generation; /* differs for every heap of the process */
  struct hw_heap_config config;
  size_t class_bytes[HW_HEAP_MOST_CLASSES];
  uint8_t class_of[HWI_GRANULES + 1];
  struct hw_heap *next; /* in the list of all heaps */
  struct hwi_lock_word lock;
  /* Below: protected by the lock; the list of owners is read without it. */
  struct hwi_owner *owners;
  struct hwi_arena *arenas;
  size_t kept_bytes; /* in slices that are free and touched */
  size_t mapped_bytes, peak_mapped_bytes;
  struct hwi_large_block *large; /* a hash table, open addressing */
  size_t large_room, large_count, large_bytes;
};

extern struct hwi_page hwi_no_page __attribute__((visibility("hidden")));
extern uint32_t hwi_arena_map[] __attribute__((visibility("hidden"))); /* a bit for each HWI_ARENA_BYTES */

enum { HWI_MAP_BITS = 5 };

static inline bool hwi_is_in_arena(const void *address)
{
  uintptr_t at = (uintptr_t)address, index = at >> HWI_ARENA_BITS;
  if (__builtin_expect(at >> HWI_ADDRESS_BITS != 0, 0))
    return false;
  uint32_t word = __atomic_load_n(&hwi_arena_map[index >> HWI_MAP_BITS], __ATOMIC_RELAXED);
  return word >> (index & ((1u << HWI_MAP_BITS) - 1)) & 1;
}

/* Of an address in an arena: the descriptor of its slice. */
static inline struct hwi_page *hwi_slice_of(const void *address)
{
  uintptr_t at = (uintptr_t)address;
  uintptr_t off = at >> (HWI_SLICE_BITS - HWI_PAGE_BITS) & ((uintptr_t)(HWI_SLICES - 1) << HWI_PAGE_BITS);
  return (struct hwi_page *)((at & ~(HWI_ARENA_BYTES - 1)) + off);
}

static inline struct hwi_arena *hwi_arena_of(const void *address)
{
  return (struct hwi_arena *)((uintptr_t)address & ~(HWI_ARENA_BYTES - 1));
}

static inline uintptr_t hwi_page_start(const struct hwi_page *page)
{
  uintptr_t arena = (uintptr_t)hwi_arena_of(page);
  return arena + (((uintptr_t)page - arena) >> HWI_PAGE_BITS << HWI_SLICE_BITS);
}

/* Returns NULL if the slow path is needed. */
static inline __attribute__((always_inline)) void *hwi_owner_try_alloc(struct hwi_owner *owner, size_t bytes)
{
  if (__builtin_expect(bytes > HW_HEAP_LARGEST_CLASS_BYTES, 0))
    return NULL;
  struct hwi_page *page = owner->pages[owner->class_of[(bytes + HW_HEAP_ALIGN - 1) >> HWI_GRANULE_BITS]];
  struct hwi_free_block *block = page->free;
  if (__builtin_expect(!block, 0))
    return NULL;
  page->free = block->next;
  page->count++;
  block->page = NULL;
  return block;
}

/* Makes up for the change of a page whose count has become 0. */
__attribute__((noinline)) void hwi_page_settle(struct hwi_page *page);

/* Returns false if the slow path is needed; then nothing was done. */
static inline __attribute__((always_inline)) bool hwi_owner_try_free(struct hwi_owner *owner, void *address)
{
  if (__builtin_expect(!hwi_is_in_arena(address), 0))
    return false;
  struct hwi_page *page = hwi_slice_of(address);
  struct hwi_free_block *block = address;
  if (__builtin_expect(page->owner != owner || block->page == page, 0))
    return false;
  block->next = page->free;
  block->page = page;
  page->free = block;
  if (__builtin_expect(--page->count == 0, 0))
    hwi_page_settle(page);
  return true;
}

/* --- arenas.c: with the heap's lock --- */

/* Returns a page of `slice_count` slices, or NULL if there is no memory. Its blocks are not set up. */
struct hwi_page *hwi_arena_take(struct hw_heap *heap, unsigned slice_count);
void hwi_arena_give(struct hwi_page *page);

/* Returns free memory to the system until at most `most_bytes` are kept. */
void hwi_arena_trim(struct hw_heap *heap, size_t most_bytes);
void hwi_arena_unmap_all(struct hw_heap *heap);
void hwi_heap_count_mapped(struct hw_heap *heap, size_t bytes);

/* --- large.c: takes the heap's lock --- */

void *hwi_large_alloc(struct hw_heap *heap, size_t bytes, size_t align);
size_t hwi_large_bytes(struct hw_heap *heap, const void *block); /* 0: no such block */
bool hwi_large_free(struct hw_heap *heap, void *block);
void *hwi_large_resize(struct hw_heap *heap, void *block, size_t bytes); /* NULL: unchanged */
void hwi_large_unmap_all(struct hw_heap *heap);

/* --- owners.c --- */

/* Returns an owner for the calling thread, from an ended one if possible; NULL if there is no memory. */
struct hwi_owner *hwi_owner_begin(struct hw_heap *heap, const void *thread);

/* The thread ends: its owner is an orphan from then on. */
void hwi_owner_end(struct hwi_owner *owner);

/* Takes back what other threads freed; the caller has the owner. */
void hwi_owner_drain(struct hwi_owner *owner);
void hwi_owner_drain_orphans(struct hw_heap *heap);

/* Takes a page with room from an orphan. Returns false if there is none. */
bool hwi_owner_adopt_page(struct hwi_owner *owner, unsigned class_index);
void hwi_page_push_remote(struct hwi_page *page, struct hwi_free_block *block);

/* --- pages.c: the caller has the owner --- */

void hwi_page_list(struct hwi_page *page); /* behind the first of its class */
void hwi_page_unlist(struct hwi_page *page);
bool hwi_page_has_room(const struct hwi_page *page);
void hwi_owner_give_empty_pages(struct hwi_owner *owner);
void *hwi_owner_alloc(struct hwi_owner *owner, size_t bytes);
void *hwi_owner_alloc_aligned(struct hwi_owner *owner, size_t align, size_t bytes);
void *hwi_owner_alloc_zeroed(struct hwi_owner *owner, size_t align, size_t bytes);

/* `owner` is the calling thread's, or NULL. */
enum hw_heap_fault hwi_owner_free(struct hw_heap *heap, struct hwi_owner *owner, void *block);

/* Returns 0 for an address at which no block of the heap begins, with the fault. */
size_t hwi_heap_block_bytes(struct hw_heap *heap, const void *block, enum hw_heap_fault *fault);

#endif
