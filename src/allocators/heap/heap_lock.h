/* heap_lock.h - the lock of a general heap: taken and left by its own functions, or by a whole call on a central heap
 *
 * Each returned result is given to the function that leaves the lock. layout.h says what the locks are for.
 */
#ifndef HWI_ALLOCATORS_HEAP_HEAP_LOCK_H
#define HWI_ALLOCATORS_HEAP_HEAP_LOCK_H

#include "allocators/heap/layout.h"
#include "allocators/lock.h"

/* The lock of a heap that the thread has, or waits for, or has just left; or NULL. */
extern HWI_THREAD_LOCAL struct hwi_lock *hwi_heap_lock_of_thread __attribute__((visibility("hidden")));

static inline enum hwi_lock_result hwi_heap_lock_by(struct hw_heap *heap, bool spins, bool always)
{
  struct hwi_lock *before = hwi_heap_lock_of_thread;
  if (!heap->has_lock)
    return HWI_LOCK_NOT_NEEDED;
  hwi_heap_lock_of_thread = &heap->lock;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  enum hwi_lock_result result = spins && !hwi_lock_is_alone() && hwi_lock_spin(&heap->lock) ? HWI_LOCK_TAKEN
                                : always ? hwi_lock_enter_always(&heap->lock)
                                         : hwi_lock_enter(&heap->lock);
  if (result == HWI_LOCK_TAKEN)
    heap->lock_before = before;
  else
    hwi_heap_lock_of_thread = before;
  return result;
}

/* Takes the heap's lock. Returns HWI_LOCK_CLOSED only for the heap of the process, and in malloc and free. */
static inline enum hwi_lock_result hwi_heap_lock(struct hw_heap *heap)
{
  return hwi_heap_lock_by(heap, heap->config.lock == HW_HEAP_LOCK_SPINNING, !heap->is_of_process && !hwi_is_in_malloc);
}

/* Takes it also in the heap of the process: waits for the end of a fork that has closed it. */
static inline enum hwi_lock_result hwi_heap_lock_always(struct hw_heap *heap)
{
  return hwi_heap_lock_by(heap, false, true);
}

/* Leaves it as it was before. Nothing may be pending. */
static inline void hwi_heap_give_lock(struct hw_heap *heap, enum hwi_lock_result result)
{
  if (result != HWI_LOCK_TAKEN)
    return;
  struct hwi_lock *before = heap->lock_before;
  hwi_lock_give(&heap->lock);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  hwi_heap_lock_of_thread = before;
}

/* Takes the lock within a call: if the heap is central, the call has it. */
static inline enum hwi_lock_result hwi_heap_enter(struct hw_heap *heap)
{
  return hwi_heap_is_central(heap) ? HWI_LOCK_NOT_NEEDED : hwi_heap_lock(heap);
}

/* The same for what need not be done now: returns HWI_LOCK_CLOSED for every heap whose lock another thread's fork has
 * closed. */
static inline enum hwi_lock_result hwi_heap_enter_unless_closed(struct hw_heap *heap)
{
  return hwi_heap_is_central(heap) || hwi_lock_is_closed_by_me()
             ? HWI_LOCK_NOT_NEEDED
             : hwi_heap_lock_by(heap, heap->config.lock == HW_HEAP_LOCK_SPINNING, false);
}

/* The counterpart, around such a call. */
static inline enum hwi_lock_result hwi_heap_enter_central(struct hw_heap *heap)
{
  return hwi_heap_is_central(heap) ? hwi_heap_lock(heap) : HWI_LOCK_NOT_NEEDED;
}

/* Makes the pending system calls, without the lock if `result` says that this call has taken it. */
__attribute__((noinline)) void hwi_heap_unlock_and_settle(struct hw_heap *heap, enum hwi_lock_result result);

static inline void hwi_heap_unlock(struct hw_heap *heap, enum hwi_lock_result result)
{
  if (heap->pending_slices || heap->pending_units)
    hwi_heap_unlock_and_settle(heap, result);
  else
    hwi_heap_give_lock(heap, result);
}

/* After hwi_heap_enter; a central heap stays locked. */
static inline void hwi_heap_leave(struct hw_heap *heap, enum hwi_lock_result result)
{
  if (!hwi_heap_is_central(heap))
    hwi_heap_unlock(heap, result);
}

/* After hwi_heap_enter_central. */
static inline void hwi_heap_leave_central(struct hw_heap *heap, enum hwi_lock_result result)
{
  if (hwi_heap_is_central(heap) && result != HWI_LOCK_CLOSED)
    hwi_heap_unlock(heap, result);
}

#endif
