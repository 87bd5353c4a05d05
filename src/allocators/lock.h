/* lock.h - a lock with priority inheritance: its holder runs at the priority of the most urgent waiting thread
 *
 * The word is 0, or the holder's tid, with the kernel's flag if other threads wait. Taking a free lock and releasing it
 * without waiting threads is one atomic instruction each, without a system call; while a process has one thread, not
 * even that. If the lock is taken, a thread tries again for up to a microsecond. Then one with a real-time policy waits in the
 * kernel; any other thread tries several times before, unless it forks.
 *
 * A fork needs to close the locks: the forking thread takes them, so that the child's heap is consistent, and then no
 * thread may wait for them. The reason is libc's fork, which takes locks of its own after that. It would wait for a
 * thread that holds one of these and waits for ours: for example, a getline holds a stream's lock and makes room for a
 * longer line, while fflush(NULL) holds the lock of the list of streams. So no thread waits for a closed lock: a thread
 * that wants it learns that it is closed, and works without it (fork_heap.h). If it began to wait just before, it learns
 * that within some milliseconds.
 *
 * A thread normally cannot end while it holds the lock: code inside the lock cannot throw or be cancelled, and a signal
 * handler that leaves it by longjmp breaks malloc's own rules. If it happens nevertheless, or if a signal handler
 * allocates while its own thread holds the lock, waiting would never end: the process is ended with a report instead. A
 * handler that forks does not take a lock that its thread has, nor one of a fork that waits for its thread.
 */
#ifndef HWI_ALLOCATORS_LOCK_H
#define HWI_ALLOCATORS_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/thread_local.h"
#include "platform/os_heap.h"
#include "platform/os_inline.h"

struct hwi_lock {
  uint32_t word;
  unsigned
      taken_by; /* a fork within another call took it, the innermost one of so many; 0: none. Of the thread that has the lock */
};

#define HWI_LOCK_HOLDER 0x3fffffffu /* part of the word: the tid; the kernel's flags are above */

/* Points to 0 if there may be other threads. hwi_lock_begin makes it point to libc's flag. */
extern const char *hwi_lock_alone __attribute__((visibility("hidden")));
void hwi_lock_begin(void);

/* To be called instead of hwi_lock_begin if no lock is ever needed, even with other threads. */
void hwi_lock_never(void);

/* The value of a lock that is free, and of one that the calling thread holds: 0 and its tid. Until the thread knows its
 * tid, `free` is a value that a lock never has, so that one comparison covers both cases. */
#define HWI_LOCK_NEVER UINT32_MAX

struct hwi_lock_words {
  uint32_t free, mine;
};

extern HWI_THREAD_LOCAL struct hwi_lock_words hwi_lock_words __attribute__((visibility("hidden")));

/* Tries to take the lock until it succeeds, without sleeping. Returns false, and does not take it, if the caller has to wait in
 * another way: the lock is closed, or the calling thread has it, or has a real-time policy and would keep the holder from
 * running. */
__attribute__((noinline, cold)) bool hwi_lock_spin(struct hwi_lock *lock);

/* Waits for the lock. Returns false, and does not take it, if it is closed. */
__attribute__((noinline, cold)) bool hwi_lock_wait(struct hwi_lock *lock);

/* Waits for the lock, also until it is open again. Only for callers for which no other thread waits, or which have no
 * alternative. */
__attribute__((noinline, cold)) void hwi_lock_wait_always(struct hwi_lock *lock);
__attribute__((noinline, cold)) void hwi_lock_hand_on(struct hwi_lock *lock);

/* Takes the lock if it is free. Returns false, and does nothing, if the thread would have to wait, or does not know its
 * tid yet. */
static inline bool hwi_lock_try_take(struct hwi_lock *lock)
{
  uint32_t free = hwi_lock_words.free, mine = hwi_lock_words.mine;
  return __builtin_expect(
      __atomic_compare_exchange_n(&lock->word, &free, mine, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED), 1);
}

/* Releases the lock. Returns false, and does nothing, if other threads wait for it. */
static inline bool hwi_lock_try_give(struct hwi_lock *lock)
{
  uint32_t mine = hwi_lock_words.mine;
  return __builtin_expect(__atomic_compare_exchange_n(&lock->word, &mine, 0, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED),
                          1);
}

/* Takes the lock, also if there are no other threads. */
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

/* The result of entering a lock, for hwi_lock_leave. */
enum hwi_lock_result {
  HWI_LOCK_NOT_NEEDED, /* there are no other threads, or the thread has closed the lock */
  HWI_LOCK_TAKEN,      /* the thread has the lock */
  HWI_LOCK_CLOSED,     /* a fork has closed the lock: the thread does not have it */
};

static inline enum hwi_lock_result hwi_lock_enter(struct hwi_lock *lock)
{
  if (hwi_lock_is_alone())
    return HWI_LOCK_NOT_NEEDED;
  return hwi_lock_try_take(lock) || hwi_lock_wait(lock) ? HWI_LOCK_TAKEN : HWI_LOCK_CLOSED;
}

extern HWI_THREAD_LOCAL hwi_thread_flag hwi_lock_closed_by_me __attribute__((visibility("hidden")));

/* Returns whether the calling thread is the one that forks, and has closed the locks: it has them, in the child too, where
 * its tid is a new one. A program's own handlers for forks may run then. */
static inline bool hwi_lock_is_closed_by_me(void)
{
  return hwi_lock_closed_by_me;
}

/* Takes the lock, also if there are no other threads. If another thread's fork has closed it, waits for the end of the
 * fork. Never returns HWI_LOCK_CLOSED. */
static inline enum hwi_lock_result hwi_lock_take_or_have(struct hwi_lock *lock)
{
  if (hwi_lock_try_take(lock))
    return HWI_LOCK_TAKEN;
  if (hwi_lock_is_closed_by_me())
    return HWI_LOCK_NOT_NEEDED;
  hwi_lock_wait_always(lock);
  return HWI_LOCK_TAKEN;
}

/* The same, unless there are no other threads. */
static inline enum hwi_lock_result hwi_lock_enter_always(struct hwi_lock *lock)
{
  return hwi_lock_is_alone() ? HWI_LOCK_NOT_NEEDED : hwi_lock_take_or_have(lock);
}

static inline void hwi_lock_leave(struct hwi_lock *lock, enum hwi_lock_result result)
{
  if (result == HWI_LOCK_TAKEN)
    hwi_lock_give(lock);
}

/* Returns true if the calling thread has the lock. Also valid in a signal handler. */
static inline bool hwi_lock_is_mine(const struct hwi_lock *lock)
{
  uint32_t mine = hwi_lock_words.mine;
  return mine && (__atomic_load_n(&lock->word, __ATOMIC_RELAXED) & HWI_LOCK_HOLDER) == mine;
}

/* All locks of an allocator. A thread takes `outer` first, if at all, then one of the others, and then perhaps the last one. As long as a
 * thread has `outer`, they stay the same ones. Who has the last one takes no other, and is not interrupted by signal handlers that fork, or
 * it is the only one beside `outer`. */
struct hwi_lock_set {
  struct hwi_lock *outer, *last;
  /* Returns the one after this one: after `outer`, the first one of the others; after `last`, NULL. */
  struct hwi_lock *(*next)(const struct hwi_lock *lock);
};

/* To be called before and after a fork, by the forking thread, also in the child. The first one takes all locks and closes them, and the
 * second one opens them, except `outer`, which its caller gives. `has_inner`: the thread has one that is not `outer`.
 * A signal handler may fork while its thread is in malloc, or in another fork. Then the thread already has some of the locks, and
 * its child continues at the same point: nothing is closed or opened, and both functions return false. The locks that the thread
 * does not have are taken then, too, and given back, unless other threads have them for long, perhaps because they wait for this thread.
 * What these are changing at that moment is not right in the child. If another fork has `outer` and waits for this thread, through another
 * copy of this library, both return false, too, and no lock is taken. */
bool hwi_lock_before_fork(const struct hwi_lock_set *set, bool has_inner);
bool hwi_lock_after_fork(const struct hwi_lock_set *set, bool is_child);

/* Returns whether the locks are closed: threads that need one then work without it. */
bool hwi_lock_is_closed(void);

#endif
