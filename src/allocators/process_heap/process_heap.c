/* process_heap.c - libheapwright-heap.so: a general heap as the malloc of a process
 *
 * A thread's owner is a thread-local pointer. Before the first call, and after the end of the thread, it points to an
 * owner without pages, so that the fast paths need no check. A call of a thread that has ended begins an owner and
 * ends it again.
 *
 * A child of a fork has the thread that forked. Owners of other threads stay as they were at the fork: what the child
 * frees in their pages is not given out again.
 */
#include <string.h>

#include "allocators/heap/process_owner.h"
#include "allocators/message.h"
#include "heapwright/allocator.h"

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define COLD __attribute__((noinline, cold))

static struct hwi_owner no_owner;
static struct hw_heap *heap;
static __thread struct hwi_owner *mine __attribute__((tls_model("initial-exec"))) = &no_owner;
static __thread bool has_ended __attribute__((tls_model("initial-exec")));

static COLD struct hwi_owner *begin(void)
{
  if (mine != &no_owner)
    return mine;
  struct hwi_owner *owner = hwi_owner_begin(heap, &mine);
  if (owner)
    mine = owner;
  return owner;
}

static void leave(void)
{
  struct hwi_owner *owner = mine;
  mine = &no_owner;
  if (owner != &no_owner)
    hwi_owner_end(owner);
}

static void heap_thread_exit(void)
{
  has_ended = true;
  leave();
}

static void *heap_alloc(size_t bytes, size_t align)
{
  struct hwi_owner *owner = begin();
  void *block = owner ? hwi_owner_alloc_aligned(owner, align, bytes) : NULL;
  if (has_ended)
    leave();
  return block;
}

static void *heap_alloc_zeroed(size_t bytes, size_t align)
{
  struct hwi_owner *owner = begin();
  void *block = owner ? hwi_owner_alloc_zeroed(owner, align, bytes) : NULL;
  if (has_ended)
    leave();
  return block;
}

static COLD void report(const void *address, enum hw_heap_fault fault)
{
  struct hwi_message line;
  hwi_message_begin(&line);
  hwi_message_text(&line, "block ");
  hwi_message_address(&line, (uintptr_t)address);
  hwi_message_text(&line, ": ");
  hwi_message_text(&line, hw_heap_fault_text(fault));
  hwi_message_text(&line, "; it stays as it is");
  hwi_message_print(&line);
  hwi_message_stack();
}

/* A foreign block may be another malloc's. */
static void heap_free(void *block)
{
  enum hw_heap_fault fault = hwi_owner_free(heap, mine == &no_owner ? NULL : mine, block);
  if (fault == HW_HEAP_FOREIGN)
    hw_next_free(block);
  else if (fault != HW_HEAP_OK)
    report(block, fault);
}

static size_t heap_usable_size(void *block)
{
  enum hw_heap_fault fault;
  size_t bytes = hwi_heap_block_bytes(heap, block, &fault);
  if (fault == HW_HEAP_FOREIGN)
    return hw_next_usable_size(block);
  if (fault != HW_HEAP_OK)
    report(block, fault);
  return bytes;
}

static void *heap_realloc(void *block, size_t bytes)
{
  enum hw_heap_fault fault;
  size_t old_bytes = hwi_heap_block_bytes(heap, block, &fault);
  if (fault == HW_HEAP_FOREIGN)
    return hw_next_realloc(block, bytes);
  if (fault != HW_HEAP_OK) {
    report(block, fault);
    return NULL;
  }
  if (hwi_heap_resize(heap, &block, old_bytes, bytes))
    return block;
  void *moved = heap_alloc(bytes, HW_HEAP_ALIGN);
  if (moved) {
    memcpy(moved, block, old_bytes < bytes ? old_bytes : bytes);
    heap_free(block);
  }
  return moved;
}

static inline __attribute__((always_inline)) void *heap_quick_alloc(size_t bytes, void *(*otherwise)(size_t bytes))
{
  void *block = hwi_owner_try_alloc(mine, bytes);
  return LIKELY(block) ? block : otherwise(bytes);
}

static inline __attribute__((always_inline)) void heap_quick_free(void *block, void (*otherwise)(void *block))
{
  if (!LIKELY(hwi_owner_try_free(mine, block)))
    otherwise(block);
}

static void heap_init(void)
{
  for (size_t i = 0; i < HW_HEAP_MOST_CLASSES; i++)
    no_owner.pages[i] = &hwi_no_page;
  while (!(heap = hwi_heap_make(NULL, NULL)))
    ; /* nothing works without these few pages; the process waits for memory */
}

static void heap_stats(struct hw_allocator_stats *stats)
{
  struct hw_heap_stats now;
  hw_heap_get_stats(heap, &now);
  stats->used_bytes = now.used_bytes;
  stats->system_bytes = now.mapped_bytes;
  stats->system_peak_bytes = now.peak_mapped_bytes;
}

static void heap_before_fork(void)
{
  hwi_word_take(&heap->lock);
}

static void heap_after_fork(bool is_child)
{
  (void)is_child;
  hwi_word_give(&heap->lock);
}

HEAPWRIGHT_ALLOCATOR(.alloc = heap_alloc, .free = heap_free, .usable_size = heap_usable_size,
                     .alloc_zeroed = heap_alloc_zeroed, .realloc = heap_realloc, .init = heap_init,
                     .thread_exit = heap_thread_exit, .before_fork = heap_before_fork, .after_fork = heap_after_fork,
                     .quick_alloc = heap_quick_alloc, .quick_free = heap_quick_free, .stats = heap_stats,
                     .keeps_errno = true);
