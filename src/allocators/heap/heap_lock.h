/* heap_lock.h - the lock of a general heap: an atomic operation each way unless threads wait; waiting is in the kernel */
#ifndef HWI_ALLOCATORS_HEAP_HEAP_LOCK_H
#define HWI_ALLOCATORS_HEAP_HEAP_LOCK_H

#include <stdint.h>

#include "platform/os_heap.h"

struct hwi_lock_word {
  uint32_t state;
};

enum { HWI_WORD_FREE, HWI_WORD_TAKEN, HWI_WORD_AWAITED };

static inline void hwi_word_take(struct hwi_lock_word *lock)
{
  uint32_t state = HWI_WORD_FREE;
  if (__atomic_compare_exchange_n(&lock->state, &state, (uint32_t)HWI_WORD_TAKEN, 0, __ATOMIC_ACQUIRE,
                                  __ATOMIC_RELAXED))
    return;
  while (__atomic_exchange_n(&lock->state, (uint32_t)HWI_WORD_AWAITED, __ATOMIC_ACQUIRE) != HWI_WORD_FREE)
    hwi_os_wait_for_change(&lock->state, HWI_WORD_AWAITED);
}

static inline void hwi_word_give(struct hwi_lock_word *lock)
{
  if (__atomic_exchange_n(&lock->state, (uint32_t)HWI_WORD_FREE, __ATOMIC_RELEASE) == HWI_WORD_AWAITED)
    hwi_os_wake_all(&lock->state);
}

#endif
