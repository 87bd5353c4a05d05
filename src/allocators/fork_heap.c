/* fork_heap.c - malloc and free while a fork has closed the pool */
#include "allocators/fork_heap.h"

#include "allocators/lock.h"
#include "platform/os.h"
#include "platform/os_heap.h"

/* --- blocks --- */

/* Precedes a block, in the same mapping. */
struct head {
  uintptr_t seal; /* shows that an address is a block; other memory has this value only by chance */
  uintptr_t start;
  size_t mapped_bytes;
  size_t spare;
};

enum { HEAD_BYTES = sizeof(struct head), MOST_TRIES = 16 };

#define SEAL ((uintptr_t)UINT64_C(0x9e3779b97f4a7c15))

uintptr_t hwi_fork_heap_start;
static uintptr_t next_off; /* offset of the next mapping; wraps around */

void hwi_fork_heap_begin(uintptr_t pool)
{
  uintptr_t below = (uintptr_t)1 << HWI_FORK_HEAP_BELOW_BITS;
  uintptr_t start = pool > 2 * below ? pool - below : pool + below;
  hwi_fork_heap_start = start & ~(uintptr_t)(HWI_OS_PAGE_BYTES - 1);
}

static struct head *head_of(const void *block)
{
  return (struct head *)((uintptr_t)block - HEAD_BYTES);
}

/* Returns address space that no other thread has been given, or not recently. Returns 0 if there is not enough. */
static uintptr_t claim(size_t bytes, size_t align)
{
  uintptr_t room = (uintptr_t)1 << HWI_FORK_HEAP_BYTES_BITS;
  if (bytes > room / MOST_TRIES || align > room / MOST_TRIES)
    return 0;
  uintptr_t off = __atomic_fetch_add(&next_off, bytes + align, __ATOMIC_RELAXED) % (room - bytes - align);
  return (hwi_fork_heap_start + off + align - 1) & ~(uintptr_t)(align - 1);
}

void *hwi_fork_heap_alloc(size_t bytes, size_t align)
{
  size_t off = align > HEAD_BYTES ? align : HEAD_BYTES, total;
  if (__builtin_add_overflow(bytes, off + HWI_OS_PAGE_BYTES - 1, &total))
    return NULL;
  total &= ~(size_t)(HWI_OS_PAGE_BYTES - 1);
  for (int i = 0; i < MOST_TRIES; i++) {
    uintptr_t start = claim(total, align > HWI_OS_PAGE_BYTES ? align : HWI_OS_PAGE_BYTES);
    if (!start)
      return NULL;
    if (hwi_os_map_at((void *)start, total) != 0)
      continue; /* perhaps there is another mapping */
    void *block = (void *)(start + off);
    *head_of(block) = (struct head){(uintptr_t)block ^ SEAL, start, total, 0};
    return block;
  }
  return NULL;
}

/* The address may have been freed before; its mapping is then gone. */
static bool is_block(const void *block)
{
  uintptr_t head = (uintptr_t)head_of(block);
  return (uintptr_t)block % HEAD_BYTES == 0 && hwi_os_readable_pages(head & ~(uintptr_t)(HWI_OS_PAGE_BYTES - 1), 1) &&
         head_of(block)->seal == ((uintptr_t)block ^ SEAL);
}

size_t hwi_fork_heap_usable_bytes(const void *block)
{
  if (!is_block(block))
    return 0;
  const struct head *head = head_of(block);
  return head->start + head->mapped_bytes - (uintptr_t)block;
}

bool hwi_fork_heap_free(void *block)
{
  if (!is_block(block))
    return false;
  const struct head *head = head_of(block);
  hwi_os_unmap((void *)head->start, head->mapped_bytes);
  return true;
}

/* --- blocks to be freed later --- */

/* Slots are taken and cleared one by one with an atomic operation each; `cursor` is only the place to look first. */
enum { SLOTS = 510 };

struct notes {
  struct notes *next;
  size_t cursor;
  void *slots[SLOTS];
};

static struct notes first_notes;

/* Returns the next group of notes, which is made if needed. Returns NULL if there is no memory. */
static struct notes *next_notes(struct notes *notes)
{
  struct notes *next = __atomic_load_n(&notes->next, __ATOMIC_ACQUIRE), *made;
  if (next || !(made = (struct notes *)hwi_os_map(sizeof *made)))
    return next;
  if (__atomic_compare_exchange_n(&notes->next, &next, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    return made;
  hwi_os_unmap(made, sizeof *made);
  return next;
}

/* Notes an address that is to be freed later. Returns false if there is no memory. */
static bool defer(void *block)
{
  size_t i;
  for (struct notes *notes = &first_notes; notes; notes = next_notes(notes))
    while ((i = __atomic_fetch_add(&notes->cursor, 1, __ATOMIC_RELAXED)) < SLOTS) {
      void *none = NULL;
      if (__atomic_compare_exchange_n(&notes->slots[i], &none, block, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
        return true;
    }
  return false;
}

void hwi_fork_heap_settle(void (*give_back)(void *block))
{
  for (struct notes *notes = &first_notes; notes; notes = __atomic_load_n(&notes->next, __ATOMIC_ACQUIRE)) {
    if (__atomic_load_n(&notes->cursor, __ATOMIC_RELAXED))
      __atomic_store_n(&notes->cursor, 0, __ATOMIC_RELAXED);
    for (size_t i = 0; i < SLOTS; i++) {
      void *block = __atomic_load_n(&notes->slots[i], __ATOMIC_SEQ_CST);
      if (block && (block = __atomic_exchange_n(&notes->slots[i], NULL, __ATOMIC_SEQ_CST)))
        give_back(block);
    }
  }
}

bool hwi_fork_heap_free_later(void *block, void (*give_back)(void *block))
{
  if (!defer(block))
    return hwi_lock_is_closed_by_me();
  if (!hwi_lock_is_closed())
    hwi_fork_heap_settle(give_back);
  return true;
}
