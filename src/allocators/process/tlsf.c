/* tlsf.c - libheapwright-tlsf.so: malloc for a whole process from a real-time pool */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "allocators/fork_heap.h"
#include "allocators/process/heap.h"
#include "heapwright/allocator.h"
#include "platform/os.h"
#include "platform/os_heap.h"

/* --- the quick paths ---
 *
 * All calls are tail calls, so that no value has to be kept for after them. Whether there is a second thread is checked
 * at the start, so that the code for either case is one piece.
 */

typedef void *alloc_fn(size_t bytes);
typedef void *alloc_aligned_fn(size_t bytes, size_t align);
typedef void free_fn(void *block);
typedef void *realloc_fn(void *block, size_t bytes);

/* To be called with the lock. */
static HWI_COLD void *hand_on_with(void *block)
{
  hwi_lock_hand_on(&hwi_heap.lock);
  return block;
}

static HWI_COLD void *leave_and_alloc(size_t bytes, alloc_fn *otherwise)
{
  hwi_lock_give(&hwi_heap.lock);
  return otherwise(bytes);
}

static HWI_COLD void *leave_and_alloc_aligned(size_t bytes, size_t align, alloc_aligned_fn *otherwise)
{
  hwi_lock_give(&hwi_heap.lock);
  return otherwise(bytes, align);
}

static HWI_COLD void leave_and_free(void *block, free_fn *otherwise)
{
  hwi_lock_give(&hwi_heap.lock);
  otherwise(block);
}

/* Called if there is no free block of exactly the size, or if it was overwritten. */
static __attribute__((noinline)) void *alloc_alone(size_t bytes, alloc_fn *otherwise)
{
  void *block = pool_try_alloc(hwi_heap.pool, bytes);
  return LIKELY(block) ? block : otherwise(bytes);
}

/* The same, called with the lock. */
static __attribute__((noinline)) void *alloc_and_leave(size_t bytes, alloc_fn *otherwise)
{
  void *block = pool_try_alloc(hwi_heap.pool, bytes);
  if (UNLIKELY(!block))
    return leave_and_alloc(bytes, otherwise);
  return LIKELY(hwi_lock_try_give(&hwi_heap.lock)) ? block : hand_on_with(block);
}

HWI_HOT void *tlsf_quick_alloc(size_t bytes, alloc_fn *otherwise)
{
  bool is_small = is_small_request(bytes);
  if (hwi_lock_is_alone()) {
    void *block = LIKELY(is_small) ? pool_try_alloc_same(hwi_heap.pool, block_size_for(bytes)) : NULL;
    return LIKELY(block) ? block : alloc_alone(bytes, otherwise);
  }
  if (UNLIKELY(!hwi_lock_try_take(&hwi_heap.lock)))
    return otherwise(bytes);
  void *block = LIKELY(is_small) ? pool_try_alloc_same(hwi_heap.pool, block_size_for(bytes)) : NULL;
  if (!block)
    return alloc_and_leave(bytes, otherwise);
  return LIKELY(hwi_lock_try_give(&hwi_heap.lock)) ? block : hand_on_with(block);
}

HWI_HOT void *tlsf_quick_alloc_aligned(size_t bytes, size_t align, alloc_aligned_fn *otherwise)
{
  if (UNLIKELY(align <= HW_POOL_ALIGN))
    return otherwise(bytes, align);
  if (hwi_lock_is_alone()) {
    void *block = pool_try_alloc_aligned(hwi_heap.pool, align, bytes);
    return LIKELY(block) ? block : otherwise(bytes, align);
  }
  if (UNLIKELY(!hwi_lock_try_take(&hwi_heap.lock)))
    return otherwise(bytes, align);
  void *block = pool_try_alloc_aligned(hwi_heap.pool, align, bytes);
  if (UNLIKELY(!block))
    return leave_and_alloc_aligned(bytes, align, otherwise);
  return LIKELY(hwi_lock_try_give(&hwi_heap.lock)) ? block : hand_on_with(block);
}

HWI_HOT void tlsf_quick_free(void *block, free_fn *otherwise)
{
  if (UNLIKELY(!block))
    return;
  if (hwi_lock_is_alone()) {
    if (UNLIKELY(!pool_try_free(hwi_heap.pool, block)))
      otherwise(block);
  } else if (UNLIKELY(!hwi_lock_try_take(&hwi_heap.lock))) {
    otherwise(block);
  } else if (UNLIKELY(!pool_try_free(hwi_heap.pool, block))) {
    leave_and_free(block, otherwise);
  } else if (UNLIKELY(!hwi_lock_try_give(&hwi_heap.lock))) {
    hwi_lock_hand_on(&hwi_heap.lock);
  }
}

/* Called with the lock. */
static HWI_COLD void *leave_and_realloc(void *block, size_t bytes, realloc_fn *otherwise)
{
  hwi_lock_give(&hwi_heap.lock);
  return otherwise(block, bytes);
}

/* glibc frees the block; another libc, whose malloc the block is from, may keep it. */
static HWI_COLD void *realloc_to_nothing(void *block, realloc_fn *otherwise)
{
  return hwi_os_libc_is_glibc() ? otherwise(block, 0) : hw_next_realloc(block, 0);
}

HWI_HOT void *tlsf_quick_realloc(void *block, size_t bytes, realloc_fn *otherwise)
{
  if (UNLIKELY(!bytes))
    return realloc_to_nothing(block, otherwise);
  if (hwi_lock_is_alone())
    return LIKELY(pool_try_resize(hwi_heap.pool, block, bytes)) ? block : otherwise(block, bytes);
  if (UNLIKELY(!hwi_lock_try_take(&hwi_heap.lock)))
    return otherwise(block, bytes);
  if (!pool_try_resize(hwi_heap.pool, block, bytes))
    return leave_and_realloc(block, bytes, otherwise);
  return LIKELY(hwi_lock_try_give(&hwi_heap.lock)) ? block : hand_on_with(block);
}

/* --- the full paths --- */

/* The pool checks each address anyway, and reports one outside of it as foreign, so `owns` need not be checked
 * first. */

static void tlsf_free(void *block);

/* Called during a fork. */
static HWI_COLD void free_later(void *block)
{
  if (hwi_fork_heap_free_later(block, tlsf_free))
    return;
  hwi_lock_leave(&hwi_heap.lock, hwi_lock_enter_always(&hwi_heap.lock)); /* no memory: waits for the fork's end */
  tlsf_free(block);
}

static void tlsf_free(void *block)
{
  enum hw_pool_fault fault;
  if (hwi_fork_heap_owns(block) && hwi_fork_heap_free(block))
    return;
  if (!hwi_heap_free(block, &fault)) {
    free_later(block);
  } else if (fault == HW_POOL_FOREIGN && !hwi_heap_owns(block)) {
    hwi_heap_report_foreign("free", block);
    hw_next_free(block);
  } else if (fault != HW_POOL_OK) {
    hwi_heap_report(fault, block);
  }
}

/* Works without the pool's lock, for a block that the thread owns. Returns 0 if it is not a block of the pool, or if
 * this cannot be decided without the lock. */
static HWI_COLD size_t usable_size_in_fork(void *block)
{
  return hwi_fork_heap_owns(block) ? hwi_fork_heap_usable_bytes(block) : hwi_heap_own_bytes(block);
}

static size_t tlsf_usable_size(void *block)
{
  size_t bytes;
  enum hwi_lock_result result = hwi_lock_enter(&hwi_heap.lock);
  if (UNLIKELY(result == HWI_LOCK_CLOSED)) {
    if ((bytes = usable_size_in_fork(block)))
      return bytes;
    result = hwi_lock_enter_always(&hwi_heap.lock);
  }
  bytes = hwi_fork_heap_owns(block) ? 0 : hw_pool_usable_bytes(hwi_heap.pool, block);
  hwi_lock_leave(&hwi_heap.lock, result);
  if (bytes || hwi_heap_owns(block) || (bytes = usable_size_in_fork(block)))
    return bytes;
  hwi_heap_report_foreign("malloc_usable_size", block);
  return hw_next_usable_size(block);
}

/* The address is not a block: it is another malloc's, or a fault, which the attempt to free it reports. */
static HWI_COLD void *tlsf_realloc_otherwise(void *block, size_t bytes)
{
  if (!hwi_heap_owns(block)) {
    hwi_heap_report_foreign("realloc", block);
    return hw_next_realloc(block, bytes);
  }
  tlsf_free(block);
  return NULL;
}

/* The block has `usable` bytes and cannot grow in place. */
static void *move(void *block, size_t usable, size_t bytes)
{
  void *moved = hwi_heap_alloc(bytes, HW_POOL_ALIGN);
  if (moved) {
    memcpy(moved, block, usable < bytes ? usable : bytes);
    tlsf_free(block);
  }
  return moved;
}

static void *tlsf_realloc(void *block, size_t bytes)
{
  size_t usable;
  enum hwi_lock_result result = hwi_lock_enter(&hwi_heap.lock);
  if (UNLIKELY(result == HWI_LOCK_CLOSED || hwi_fork_heap_owns(block))) {
    hwi_lock_leave(&hwi_heap.lock, result);
    if ((usable = usable_size_in_fork(block)))
      return bytes <= usable ? block : move(block, usable, bytes);
    result = hwi_lock_enter_always(&hwi_heap.lock);
  }
  bool is_resized = hw_pool_resize(hwi_heap.pool, block, bytes);
  usable = is_resized ? 0 : hw_pool_usable_bytes(hwi_heap.pool, block);
  hwi_lock_leave(&hwi_heap.lock, result);
  if (is_resized)
    return block;
  return usable ? move(block, usable, bytes) : tlsf_realloc_otherwise(block, bytes);
}

/* --- initialization and forks --- */

/* Also needed in the child: it has a copy of the notes that existed at the fork. */
static void after_fork_in_parent(void)
{
  if (hwi_heap_after_fork(false))
    hwi_fork_heap_settle(tlsf_free);
}

static void after_fork_in_child(void)
{
  if (hwi_heap_after_fork(true))
    hwi_fork_heap_settle(tlsf_free);
}

/* The handlers are the pool's own, and not those of allocator.h, which first take a lock of libc's; only an allocator
 * that makes threads wait needs that. They are registered before all handlers of the program, and so run closest to the
 * fork itself. */
static void tlsf_init(void)
{
  struct hwi_settings settings;
  if (!hwi_os_libc_is_glibc()) {
    hwi_heap_begin_passing_on();
    hw_next_look_up_all();
    return;
  }
  hwi_settings_read(&settings, hw_allocator_getenv);
  hwi_heap_begin(&settings);
  hwi_os_at_fork(hwi_heap_before_fork, after_fork_in_parent, after_fork_in_child);
}

static void *tlsf_alloc_zeroed(size_t bytes, size_t align)
{
  void *block = hwi_heap_alloc(bytes, align);
  if (LIKELY(block))
    hwi_heap_clear(block, bytes);
  return block;
}

static void tlsf_stats(struct hw_allocator_stats *stats)
{
  struct hw_pool_stats pool;
  enum hwi_lock_result result = hwi_lock_enter_always(&hwi_heap.lock);
  hw_pool_get_stats(hwi_heap.pool, &pool);
  hwi_lock_leave(&hwi_heap.lock, result);
  stats->used_bytes = pool.used_bytes;
  stats->system_bytes = stats->system_peak_bytes = pool.capacity_bytes;
}

static __attribute__((destructor)) void tlsf_ends(void)
{
  hwi_heap_print_stats();
}

HEAPWRIGHT_ALLOCATOR(.alloc = hwi_heap_alloc, .free = tlsf_free, .usable_size = tlsf_usable_size,
                     .alloc_zeroed = tlsf_alloc_zeroed, .quick_alloc = tlsf_quick_alloc,
                     .quick_alloc_aligned = tlsf_quick_alloc_aligned, .quick_free = tlsf_quick_free,
                     .quick_realloc = tlsf_quick_realloc, .realloc = tlsf_realloc, .init = tlsf_init,
                     .stats = tlsf_stats, .keeps_errno = true);
