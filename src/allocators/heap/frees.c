/* frees.c - frees that the fast path does not do: of other threads' blocks, of spans and large blocks, and faults */
#include "allocators/heap/heap_lock.h"
#include "allocators/heap/hot.h"
#include "allocators/heap/walk.h"

bool hwi_page_has_block(const struct hwi_page *page, const void *block)
{
  size_t off = (uintptr_t)block - hwi_page_start(page);
  if (off >= page->slice_count * HWI_SLICE_BYTES)
    return false;
  size_t index = hwi_page_index(page, off);
  return index * page->block_bytes == off && index < __atomic_load_n(&page->carved_count, __ATOMIC_RELAXED);
}

struct hw_heap *hwi_heap_at(const void *address)
{
  if (!hwi_is_in_space(address))
    return NULL;
  return __atomic_load_n(&hwi_unit_of(hwi_slice_of(address))->heap, __ATOMIC_RELAXED);
}

struct hwi_page *hwi_heap_page_of(const struct hw_heap *heap, const void *address, enum hw_heap_fault *fault)
{
  *fault = heap->is_alive ? HW_HEAP_FOREIGN : HW_HEAP_DESTROYED;
  if (!heap->is_alive || !hwi_is_in_space(address))
    return NULL;
  struct hwi_page *page = hwi_page_of(address);
  const struct hw_heap *its = hwi_unit_of(page)->heap;
  if (its && its != heap)
    return NULL;
  *fault = HW_HEAP_NOT_A_BLOCK;
  bool is_block = page->kind == HWI_PAGE_SMALL ? hwi_page_has_block(page, address)
                  : page->kind == HWI_PAGE_SPAN || page->kind == HWI_PAGE_LARGE
                      ? hwi_page_start(page) == (uintptr_t)address
                      : false;
  if (!is_block)
    return NULL;
  *fault = HW_HEAP_OK;
  return page;
}

/* What other threads have freed. */
static struct hwi_free_block *remote_of(const struct hwi_page *page)
{
  return hwi_remote_first(page, __atomic_load_n(&page->remote, __ATOMIC_ACQUIRE));
}

/* Another thread may be changing the list, so each link is checked before it is followed. */
static bool is_on(const struct hwi_page *page, const struct hwi_free_block *list, const struct hwi_free_block *block)
{
  for (uint32_t i = 0; i < page->capacity && list && hwi_page_has_block(page, list); i++) {
    if (list == block)
      return true;
    list = hwi_link_load(&list->next);
  }
  return false;
}

static bool is_other(void *context, const struct hwi_free_block *block)
{
  const struct hwi_free_block *const *wanted = (const struct hwi_free_block *const *)context;
  return block != *wanted;
}

/* Returns whether another thread had freed the block before the fork that made this process. */
static bool is_saved(const struct hwi_owner *owner, const struct hwi_free_block *block)
{
  return hwi_owner_each_saved(owner, is_other, &block) == HWI_WALK_STOPPED;
}

/* Returns whether a thread has the block in its list. While a fork has closed the lock, this is not known. */
static bool is_in_a_list(struct hw_heap *heap, size_t class_index, const struct hwi_free_block *block)
{
  enum hwi_lock_result result = hwi_heap_lock(heap);
  if (result == HWI_LOCK_CLOSED)
    return false;
  bool is_found = false;
  for (const struct hwi_owner *owner = heap->owners; owner && !is_found; owner = owner->next)
    is_found = hwi_owner_each_free(owner, class_index, is_other, &block) == HWI_WALK_STOPPED || is_saved(owner, block);
  hwi_heap_give_lock(heap, result);
  return is_found;
}

/* The mark alone is no proof: the program may have moved a word there that it never wrote. */
static __attribute__((no_sanitize("thread"))) bool is_free(const struct hwi_page *page,
                                                           const struct hwi_free_block *block)
{
  const struct hwi_owner *its = __atomic_load_n(&page->owner, __ATOMIC_ACQUIRE);
  if (!its || block->page != page)
    return false;
  return is_on(page, hwi_link_load(&page->free), block) || is_on(page, remote_of(page), block) ||
         is_on(page, hwi_link_load(&its->own_lists[page->class_index]), block) ||
         (its->heap->sole ? is_saved(its, block) : is_in_a_list(its->heap, page->class_index, block));
}

/* Returns whether the block of a small page is given out. */
static bool is_given(const struct hwi_page *page, const void *block)
{
  return page->heap->config.check_all_frees ? hwi_given_has(page, block)
                                            : !is_free(page, (const struct hwi_free_block *)block);
}

size_t hwi_heap_block_bytes(struct hw_heap *heap, const void *block, enum hw_heap_fault *fault)
{
  enum hwi_lock_result result = hwi_heap_enter_central(heap); /* the lists that are searched are those of all threads */
  const struct hwi_page *page = hwi_heap_page_of(heap, block, fault);
  if (page && page->kind == HWI_PAGE_SMALL && !is_given(page, block)) {
    *fault = HW_HEAP_FREED;
    page = NULL;
  }
  size_t bytes = page ? page->block_bytes : 0;
  hwi_heap_leave_central(heap, result);
  return bytes;
}

bool hwi_thread_free(uintptr_t thread, void *address)
{
  if (!hwi_is_in_space(address))
    return false;
  struct hwi_page *page = hwi_page_of(address);
  struct hwi_free_block *block = (struct hwi_free_block *)address;
  if (HWI_LOAD_WORD(page->thread) != thread || block->page == page || !hwi_page_has_block(page, block))
    return false;
  hwi_page_push(page, block);
  return true;
}

/* Two threads may free the same block: the lock decides which one does. */
static int free_alone(struct hw_heap *heap, struct hwi_page *page)
{
  enum hwi_lock_result result = hwi_heap_enter(heap);
  if (result == HWI_LOCK_CLOSED)
    return HWI_FREE_CLOSED;
  int fault = HW_HEAP_OK;
  if (page->kind == HWI_PAGE_SPAN)
    hwi_arena_give(page);
  else if (page->kind == HWI_PAGE_LARGE)
    hwi_large_free(heap, page);
  else
    fault = HW_HEAP_FREED;
  hwi_heap_leave(heap, result);
  return fault;
}

int hwi_owner_free(struct hw_heap *heap, struct hwi_owner *owner, void *address)
{
  enum hw_heap_fault fault;
  struct hwi_page *page = hwi_heap_page_of(heap, address, &fault);
  if (!page)
    return (int)fault;
  if (page->kind != HWI_PAGE_SMALL)
    return free_alone(heap, page);
  struct hwi_free_block *block = (struct hwi_free_block *)address;
  if (heap->config.check_all_frees ? !hwi_given_remove(page, block) : is_free(page, block))
    return HW_HEAP_FREED;
  if (owner && (__atomic_load_n(&page->owner, __ATOMIC_ACQUIRE) == owner || hwi_owner_adopt(owner, page)))
    hwi_page_push(page, block);
  else
    hwi_owner_free_others(owner, page, block);
  return HW_HEAP_OK;
}
