/* tlsf.c - libheapwright-tlsf.so: malloc for a whole process from a real-time pool */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "allocators/process/heap.h"
#include "heapwright/allocator.h"

static void tlsf_init(void)
{
  struct hwi_settings settings;
  hwi_settings_read(&settings, hw_allocator_getenv);
  hwi_heap_begin(&settings);
}

/* The pool looks at each address anyway: what lies outside of it is another malloc's. No `owns`, then, which would be asked first. */

static HWI_COLD void tlsf_free_slowly(void *block)
{
  enum hw_pool_fault fault = hwi_heap_free_slowly(block);
  if (fault == HW_POOL_FOREIGN && !hwi_heap_owns(block))
    hw_next_free(block);
  else if (fault != HW_POOL_OK)
    hwi_heap_report(fault, block);
}

/* As hwi_heap_alloc: a call is the last thing done on the way. */
static inline void tlsf_free(void *block)
{
  if (UNLIKELY(!hwi_lock_try_enter(&hwi_heap.lock)))
    tlsf_free_slowly(block);
  else if (UNLIKELY(!pool_try_free(hwi_heap.pool, block)))
    tlsf_free_slowly(hwi_heap_leave_with(block));
  else if (UNLIKELY(!hwi_lock_try_leave(&hwi_heap.lock)))
    hwi_lock_hand_on(&hwi_heap.lock);
}

static size_t tlsf_usable_size(void *block)
{
  bool is_taken = hwi_lock_enter(&hwi_heap.lock);
  size_t bytes = hw_pool_usable_bytes(hwi_heap.pool, block);
  hwi_lock_leave(&hwi_heap.lock, is_taken);
  return bytes || hwi_heap_owns(block) ? bytes : hw_next_usable_size(block);
}

/* A block that is none: another malloc's, or a fault, which the attempt to free it reports. */
static HWI_COLD void *tlsf_realloc_otherwise(void *block, size_t bytes)
{
  if (!hwi_heap_owns(block))
    return hw_next_realloc(block, bytes);
  tlsf_free(block);
  return NULL;
}

static void *tlsf_realloc(void *block, size_t bytes)
{
  bool is_taken = hwi_lock_enter(&hwi_heap.lock);
  bool is_resized = hw_pool_resize(hwi_heap.pool, block, bytes);
  size_t usable = is_resized ? 0 : hw_pool_usable_bytes(hwi_heap.pool, block);
  hwi_lock_leave(&hwi_heap.lock, is_taken);
  if (is_resized)
    return block;
  if (!usable)
    return tlsf_realloc_otherwise(block, bytes);
  void *moved = hwi_heap_alloc(bytes, HW_POOL_ALIGN);
  if (moved) {
    memcpy(moved, block, usable < bytes ? usable : bytes);
    tlsf_free(block);
  }
  return moved;
}

static void tlsf_stats(struct hw_allocator_stats *stats)
{
  struct hw_pool_stats pool;
  bool is_taken = hwi_lock_enter(&hwi_heap.lock);
  hw_pool_get_stats(hwi_heap.pool, &pool);
  hwi_lock_leave(&hwi_heap.lock, is_taken);
  stats->used_bytes = pool.used_bytes;
  stats->system_bytes = stats->system_peak_bytes = pool.capacity_bytes;
}

static __attribute__((destructor)) void tlsf_ends(void)
{
  hwi_heap_say_stats();
}

HEAPWRIGHT_ALLOCATOR(.alloc = hwi_heap_alloc, .free = tlsf_free, .usable_size = tlsf_usable_size,
                     .realloc = tlsf_realloc, .init = tlsf_init, .before_fork = hwi_heap_before_fork,
                     .after_fork = hwi_heap_after_fork, .stats = tlsf_stats, .keeps_errno = true);
