/* lock.h - a lock with priority inheritance: who holds it runs at the priority of the most urgent thread that waits
 *
 * The word is 0, or the tid of the holder, with the kernel's mark if others wait. Taking a free lock and giving it back when nobody
 * waits is one atomic instruction each, without a system call; while a process has one thread, not even that. A thread with a
 * real-time policy that finds it taken waits in the kernel at once, any other tries some times before.
 *
 * Closing is what a fork needs: the thread that forks has the locks, so that the child's heap is whole, and nobody waits for them. For
 * libc's fork, which takes locks of its own after that, would else wait for a thread that has one of these and waits for ours: a
 * getline that makes room for a longer line, while fflush(NULL) has the list of streams. So a closed lock is not waited for: whoever
 * comes to it is told so, and does without (aside.h).
 *
 * A thread that ends while it holds the lock cannot have left by itself: nothing inside the lock can throw, be cancelled or run a
 * signal's handler that leaves by longjmp without breaking malloc's own rules. Where it happens all the same, or where a signal's
 * handler allocates while its own thread holds the lock, waiting would never end: the process is ended with a report instead. A
 * handler that forks takes nothing that its thread has.
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

#define HWI_LOCK_HOLDER 0x3fffffffu /* of the word: the tid; the kernel's marks are above */

/* Not 0: there is no other thread. hwi_lock_begin makes it point to libc's. */
extern const char *hwi_lock_alone __attribute__((visibility("hidden")));
void hwi_lock_begin(void);

/* Instead of it: there is nothing to lock, whoever else there is. */
void hwi_lock_never(void);

/* What the calling thread finds in a free lock and leaves in it: 0 and its tid. Until the tid was asked for, what it would have to
 * find is never there, so that one comparison sees to both. */
#define HWI_LOCK_NEVER UINT32_MAX

struct hwi_lock_words {
  uint32_t free, mine;
};

extern __thread struct hwi_lock_words hwi_lock_words __attribute__((visibility("hidden"), tls_model("initial-exec")));

/* Waits for the lock. False, and it was not taken: it is closed. */
__attribute__((noinline, cold)) bool hwi_lock_wait(struct hwi_lock *lock);

/* Waits for the lock until it is open again. Only for those who keep nobody waiting, or have no other way. */
__attribute__((noinline, cold)) void hwi_lock_wait_always(struct hwi_lock *lock);
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
    hwi_lock_wait_always(lock);
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

/* What a thread that wants a lock found, for hwi_lock_leave. */
enum hwi_entry {
  HWI_ENTRY_ALONE,  /* there is no other thread: the lock was not needed */
  HWI_ENTRY_TAKEN,  /* it has the lock */
  HWI_ENTRY_CLOSED, /* a fork is under way: it has nothing */
};

static inline enum hwi_entry hwi_lock_enter(struct hwi_lock *lock)
{
  if (hwi_lock_is_alone())
    return HWI_ENTRY_ALONE;
  return hwi_lock_try_take(lock) || hwi_lock_wait(lock) ? HWI_ENTRY_TAKEN : HWI_ENTRY_CLOSED;
}

/* The same, never closed: waits for the end of the fork. */
static inline enum hwi_entry hwi_lock_enter_always(struct hwi_lock *lock)
{
  if (hwi_lock_is_alone())
    return HWI_ENTRY_ALONE;
  hwi_lock_take_always(lock);
  return HWI_ENTRY_TAKEN;
}

static inline void hwi_lock_leave(struct hwi_lock *lock, enum hwi_entry entry)
{
  if (entry == HWI_ENTRY_TAKEN)
    hwi_lock_give(lock);
}

/* The calling thread has it; a signal's handler finds it so. */
static inline bool hwi_lock_is_mine(const struct hwi_lock *lock)
{
  uint32_t mine = hwi_lock_words.mine;
  return mine && (__atomic_load_n(&lock->word, __ATOMIC_RELAXED) & HWI_LOCK_HOLDER) == mine;
}

/* Before a fork: takes both locks, of which `outer` is always taken first, and closes them. The calling thread has neither. */
void hwi_lock_close(struct hwi_lock *outer, struct hwi_lock *inner);

/* After it, in the parent and in the child. */
void hwi_lock_open(struct hwi_lock *outer, struct hwi_lock *inner);

/* False: what comes to a lock now is not turned away. */
bool hwi_lock_is_closed(void);

/* In the child of a fork, whose one thread has a tid of its own: what it had it has by that one, and nobody has anything else. */
void hwi_lock_renew(struct hwi_lock *outer, struct hwi_lock *inner);

#endif
