/* fork_heap.c - malloc and free while a fork has closed the pool */
#include "allocators/fork_heap.h"

#include <assert.h>

#include "allocators/lock.h"
#include "platform/os.h"
#include "platform/os_heap.h"

/* --- blocks --- */

/* Precedes a block, in the same mapping. */
struct head {
  uintptr_t seal; /* shows that an address is a block; other memory has this value only by chance */
  uintptr_t start;
  size_t mapped_bytes;
  const void *group;
  struct head *next; /* if it is of a group: in the list of all these */
};

enum { HEAD_BYTES = 64, MOST_TRIES = 16 };
static_assert(sizeof(struct head) <= HEAD_BYTES, "the head is as long as blocks are aligned");

#define SEAL ((uintptr_t)UINT64_C(0x9e3779b97f4a7c15))

/* In place of the seal of a block of a group: its thread frees it, and then does not use the head any more. */
enum { BEING_FREED = 1, FREED = 0 };

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

/* Blocks of groups, the last ones first. Any thread adds one; only a thread that has the callers' lock takes one away. */
static struct head *grouped;

static void add_grouped(struct head *head)
{
  head->next = __atomic_load_n(&grouped, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(&grouped, &head->next, head, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
    continue;
}

void *hwi_fork_heap_alloc(size_t bytes, size_t align, const void *group)
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
    *head_of(block) = (struct head){(uintptr_t)block ^ SEAL, start, total, group, NULL};
    if (group)
      add_grouped(head_of(block));
    return block;
  }
  return NULL;
}

/* The address may have been freed before; its mapping is then gone. */
static bool is_block(const void *block)
{
  uintptr_t head = (uintptr_t)head_of(block);
  return (uintptr_t)block % HEAD_BYTES == 0 && hwi_os_readable_pages(head & ~(uintptr_t)(HWI_OS_PAGE_BYTES - 1), 1) &&
         __atomic_load_n(&head_of(block)->seal, __ATOMIC_RELAXED) == ((uintptr_t)block ^ SEAL);
}

bool hwi_fork_heap_has(const void *group, const void *block)
{
  return hwi_fork_heap_owns(block) && is_block(block) && head_of(block)->group == group;
}

size_t hwi_fork_heap_usable_bytes(const void *block)
{
  if (!is_block(block))
    return 0;
  const struct head *head = head_of(block);
  return head->start + head->mapped_bytes - (uintptr_t)block;
}

/* The page of the head stays: the list goes through it. */
static void free_grouped(struct head *head)
{
  uintptr_t page = (uintptr_t)head & ~(uintptr_t)(HWI_OS_PAGE_BYTES - 1);
  uintptr_t after = page + HWI_OS_PAGE_BYTES, end = head->start + head->mapped_bytes;
  if (head->start < page)
    hwi_os_unmap((void *)head->start, page - head->start);
  if (after < end)
    hwi_os_unmap((void *)after, end - after);
  head->start = page;
  head->mapped_bytes = HWI_OS_PAGE_BYTES;
  __atomic_store_n(&head->seal, FREED, __ATOMIC_RELEASE);
}

bool hwi_fork_heap_free(void *block)
{
  if (!is_block(block))
    return false;
  struct head *head = head_of(block);
  if (!head->group) {
    hwi_os_unmap((void *)head->start, head->mapped_bytes);
    return true;
  }
  uintptr_t seal = (uintptr_t)block ^ SEAL;
  if (!__atomic_compare_exchange_n(&head->seal, &seal, BEING_FREED, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    return false;
  free_grouped(head);
  return true;
}

/* `link` is the one to `head`. Returns false if it is not any more: a thread has added another one. */
static bool take_grouped(struct head **link, struct head *head)
{
  struct head *expected = head, *next = head->next;
  return __atomic_compare_exchange_n(link, &expected, next, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void hwi_fork_heap_unmap_freed(const void *group)
{
  struct head **link = &grouped, *head;
  while ((head = __atomic_load_n(link, __ATOMIC_ACQUIRE)))
    if (head->group != group && __atomic_load_n(&head->seal, __ATOMIC_ACQUIRE) != FREED)
      link = &head->next;
    else if (take_grouped(link, head))
      hwi_os_unmap((void *)head->start, head->mapped_bytes);
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

/* Notes an address that is to be freed later. Returns its slot, or NULL if there is no memory. */
static void **note_block(void *block)
{
  size_t i;
  for (struct notes *notes = &first_notes; notes; notes = next_notes(notes))
    while ((i = __atomic_fetch_add(&notes->cursor, 1, __ATOMIC_RELAXED)) < SLOTS) {
      void *none = NULL;
      if (__atomic_compare_exchange_n(&notes->slots[i], &none, block, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
        return &notes->slots[i];
    }
  return NULL;
}

/* Returns false if another thread has taken it. */
static bool take_note(void **slot, void *block)
{
  return __atomic_compare_exchange_n(slot, &block, NULL, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

static bool is_any_block(const void *context, const void *block)
{
  (void)context, (void)block;
  return true;
}

static void drop_note(void *block)
{
  (void)block;
}

static void settle_notes(bool (*is_wanted)(const void *context, const void *block), const void *context,
                         void (*give_back)(void *block))
{
  for (struct notes *notes = &first_notes; notes; notes = __atomic_load_n(&notes->next, __ATOMIC_ACQUIRE)) {
    if (__atomic_load_n(&notes->cursor, __ATOMIC_RELAXED))
      __atomic_store_n(&notes->cursor, 0, __ATOMIC_RELAXED);
    for (size_t i = 0; i < SLOTS; i++) {
      void *block = __atomic_load_n(&notes->slots[i], __ATOMIC_SEQ_CST);
      if (block && is_wanted(context, block) && take_note(&notes->slots[i], block))
        give_back(block);
    }
  }
}

void hwi_fork_heap_settle(void (*give_back)(void *block))
{
  settle_notes(is_any_block, NULL, give_back);
}

void hwi_fork_heap_forget(bool (*is_gone)(const void *context, const void *block), const void *context)
{
  settle_notes(is_gone, context, drop_note);
}

bool hwi_fork_heap_free_later(void *block, void (*give_back)(void *block))
{
  void **slot = note_block(block);
  if (!slot)
    return hwi_lock_is_closed_by_me();
  if (!hwi_lock_is_closed() && take_note(slot, block))
    give_back(block);
  return true;
}
