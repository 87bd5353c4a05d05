/* lock.h - a lock with priority inheritance: who holds it runs at the priority of the most urgent thread that waits
 *
 * The word is 0, or the tid of the holder, with the kernel's mark if others wait. Taking a free lock and giving it back when nobody
 * waits is one atomic instruction each, without a system call; while a process has one thread, not even that. A thread with a
 * real-time policy that finds it taken waits in the kernel at once, any other tries some times before.
 *
 * A thread that ends while it holds the lock cannot have left by itself: nothing inside the lock can throw, be cancelled or run a
 * signal's handler that leaves by longjmp without breaking malloc's own rules. Where it happens all the same, or where a signal's
 * handler allocates while its own thread holds the lock, waiting would never end: the process is ended with a report instead.
 */
#ifndef HWI_ALLOCATORS_PROCESS_LOCK_H
#define HWI_ALLOCATORS_PROCESS_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "platform/os_heap.h"
#include "platform/os_inline.h"

struct hwi_lock {
  uint32_t word;
};

/* Not 0: there is no other thread. hwi_lock_begin makes it point to libc's. */
extern const char *hwi_lock_alone __attribute__((visibility("hidden")));
void hwi_lock_begin(void);

/* What the calling thread finds in a free lock and leaves in it: 0 and its tid. Until the tid was asked for, what it would have to
 * find is never there, so that one comparison sees to both. */
#define HWI_LOCK_NEVER UINT32_MAX

struct hwi_lock_words {
  uint32_t free, mine;
};

extern __thread struct hwi_lock_words hwi_lock_words __attribute__((visibility("hidden"), tls_model("initial-exec")));

__attribute__((noinline, cold)) void hwi_lock_wait(struct hwi_lock *lock);
__attribute__((noinline, cold)) void hwi_lock_hand_on(struct hwi_lock *lock);

/* False, and nothing was done: the lock has to be waited for, or this thread's tid asked for. */
static inline bool hwi_lock_try_take(struct hwi_lock *lock)
{
  uint32_t free = hwi_lock_words.free, mine = hwi_lock_words.mine;
  return __builtin_expect(
      __atomic_compare_exchange_n(&lock->word, &free, mine, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED), 1);
}

/* False, and nothing was done: others wait for it. */
static inline bool hwi_lock_try_give(struct hwi_lock *lock)
{
  uint32_t mine = hwi_lock_words.mine;
  return __builtin_expect(__atomic_compare_exchange_n(&lock->word, &mine, 0, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED),
                          1);
}

/* Takes the lock whether there are other threads or not. */
static inline void hwi_lock_take_always(struct hwi_lock *lock)
{
  if (!hwi_lock_try_take(lock))
    hwi_lock_wait(lock);
}

static inline void hwi_lock_give(struct hwi_lock *lock)
{
  if (!hwi_lock_try_give(lock))
    hwi_lock_hand_on(lock);
}

static inline bool hwi_lock_is_alone(void)
{
  return *hwi_lock_alone;
}

/* Takes the lock if there are other threads, which is what is returned, for hwi_lock_leave. */
static inline bool hwi_lock_enter(struct hwi_lock *lock)
{
  if (hwi_lock_is_alone())
    return false;
  hwi_lock_take_always(lock);
  return true;
}

static inline void hwi_lock_leave(struct hwi_lock *lock, bool is_taken)
{
  if (is_taken)
    hwi_lock_give(lock);
}

/* In the child of a fork, whose one thread has a tid of its own: nobody holds the lock. */
static inline void hwi_lock_reset(struct hwi_lock *lock)
{
  hwi_lock_words = (struct hwi_lock_words){HWI_LOCK_NEVER, 0};
  lock->word = 0;
}

#endif
