/* hot.h - the fast paths of a general heap: a block from the owner's list, and a free of an own block */
#ifndef HWI_ALLOCATORS_HEAP_HOT_H
#define HWI_ALLOCATORS_HEAP_HOT_H

#include "allocators/heap/layout.h"

/* Returns NULL if the slow path is needed. `bytes` is at most HW_HEAP_LARGEST_CLASS_BYTES. */
static inline __attribute__((always_inline)) void *hwi_owner_try_alloc(struct hwi_owner *owner, size_t bytes)
{
  struct hwi_free_block **list = owner->lists[owner->class_of[(bytes + HW_HEAP_ALIGN - 1) >> HWI_GRANULE_BITS]];
  struct hwi_free_block *block = *list;
  if (__builtin_expect(!block, 0))
    return NULL;
  *list = block->next;
  block->page = NULL;
  return block;
}

/* For a block of a page of the calling thread. */
static inline __attribute__((always_inline)) void hwi_page_push(struct hwi_page *page, struct hwi_free_block *block)
{
  block->next = page->free;
  page->free = block;
  block->page = page;
  if (__builtin_expect(--page->count == 0, 0))
    hwi_page_settle_free(page);
}

/* What the fast path of free has found. Nothing was done but for HWI_FREED. */
enum hwi_quick_free { HWI_FREED, HWI_NOT_OWN, HWI_NOT_QUICK };

/* `thread` is the value of the calling thread. */
static inline __attribute__((always_inline)) enum hwi_quick_free hwi_thread_try_free(uintptr_t thread, void *address)
{
  if (__builtin_expect(!hwi_is_in_space(address), 0))
    return HWI_NOT_QUICK;
  struct hwi_page *page = hwi_slice_of(address);
  struct hwi_free_block *block = (struct hwi_free_block *)address;
  if (__builtin_expect(HWI_LOAD_WORD(page->thread) != thread, 0))
    return HWI_NOT_OWN;
  if (__builtin_expect(block->page == page, 0))
    return HWI_NOT_QUICK;
  hwi_page_push(page, block);
  return HWI_FREED;
}

#endif
