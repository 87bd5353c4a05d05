/* lock.c - waiting for a lock, and closing it */
#include "allocators/lock.h"

#include <errno.h>
#include <sched.h>

#include "allocators/message.h"
#include "platform/arch.h"
#include "platform/os.h"
#include "platform/os_heap.h"

HWI_THREAD_LOCAL struct hwi_lock_words hwi_lock_words = {HWI_LOCK_NEVER, 0};

static const char never = 0;
const char *hwi_lock_alone = &never;

HWI_THREAD_LOCAL hwi_thread_flag hwi_lock_closed_by_me;

void hwi_lock_begin(void)
{
  hwi_lock_alone = hwi_os_single_threaded_flag();
}

void hwi_lock_never(void)
{
  static const char always = 1;
  hwi_lock_alone = &always;
}

static _Noreturn void give_up(const char *why)
{
  struct hwi_message line;
  hwi_message_begin(&line);
  hwi_message_text(&line, why);
  hwi_message_print(&line);
  hwi_message_stack();
  hwi_os_abort();
}

static bool is_real_time(void)
{
  uint8_t policy, priority;
  hwi_os_thread_policy(&policy, &priority);
  return policy != SCHED_OTHER && policy != SCHED_BATCH && policy != SCHED_IDLE;
}

/* The kernel passes a contended lock from one sleeping thread to the next, and while threads keep coming the queue
 * never becomes empty: this is thousands of times slower than trying again. So a thread without a real-time policy
 * tries again first. It does not overtake a more urgent thread: a lock that one waits for is never free. */
static bool take_soon(struct hwi_lock *lock, bool even_if_closed)
{
  enum { TRIES = 100 };
  if (is_real_time())
    return false;
  for (int i = 0; i < TRIES && (even_if_closed || !hwi_lock_is_closed()); i++) {
    if (hwi_lock_try_take(lock))
      return true;
    hwi_os_yield();
  }
  return false;
}

/* Most holders have the lock for less than a microsecond; to find out how to wait takes longer. A pause takes up to 50 ns. */
static bool try_for_a_moment(struct hwi_lock *lock)
{
  enum { MOMENT = 20 };
  for (int i = 0; i < MOMENT; i++) {
    if (__atomic_load_n(&lock->word, __ATOMIC_RELAXED) == 0 && hwi_lock_try_take(lock))
      return true;
    hwi_arch_pause();
  }
  return false;
}

static void learn_tid(void)
{
  if (!hwi_lock_words.mine)
    hwi_lock_words = (struct hwi_lock_words){0, hwi_os_tid()};
}

/* IN_CIRCLE: the holder waits, perhaps through others, for a lock that this thread has. */
enum wait_result { TAKEN, LATE, IN_CIRCLE };

/* The kernel, where it has such locks, gives it to this thread before all that come later. LATE: it takes longer than that, unless `most_ns`
 * is 0. */
static enum wait_result wait_at_most(struct hwi_lock *lock, uint64_t most_ns)
{
  learn_tid();
  if (hwi_lock_try_take(lock))
    return TAKEN;
  uint64_t begin_ns = most_ns ? hwi_os_coarse_ns() : 0;
  int error = hwi_os_wait_for_lock(&lock->word, most_ns);
  if (error == -EDEADLK)
    return IN_CIRCLE;
  if (error == -ESRCH)
    give_up("a thread ended while it was in malloc");
  while (error && !hwi_lock_try_take(lock)) { /* the kernel has no such locks: without priority inheritance */
    if (error == -ETIMEDOUT || (most_ns && hwi_os_coarse_ns() - begin_ns > most_ns))
      return LATE;
    hwi_os_yield();
  }
  (void)__atomic_load_n(&lock->word, __ATOMIC_ACQUIRE);
  return TAKEN;
}

static _Noreturn void give_up_in_circle(void)
{
  give_up("a signal handler, or code that malloc itself runs, allocated while its thread was in malloc");
}

void hwi_lock_wait_always(struct hwi_lock *lock)
{
  learn_tid();
  if (!try_for_a_moment(lock) && !take_soon(lock, true) && wait_at_most(lock, 0) == IN_CIRCLE)
    give_up_in_circle();
}

/* The kernel orders memory; these two operations show it to the compiler and the thread sanitizer. */
void hwi_lock_hand_on(struct hwi_lock *lock)
{
  __atomic_fetch_or(&lock->word, 0, __ATOMIC_RELEASE);
  if (hwi_os_hand_lock_on(&lock->word) != 0)
    __atomic_store_n(&lock->word, 0, __ATOMIC_RELEASE);
}

/* Most holders have the lock for less than a microsecond. If it takes longer, the holder perhaps has no processor. */
bool hwi_lock_spin(struct hwi_lock *lock)
{
  enum { QUICK_TRIES = 1000 };
  learn_tid();
  for (unsigned tries = 0;; tries++) {
    if (__atomic_load_n(&lock->word, __ATOMIC_RELAXED) == 0 && hwi_lock_try_take(lock))
      return true;
    if (hwi_lock_is_closed() || hwi_lock_is_mine(lock) || (tries == QUICK_TRIES && is_real_time()))
      return false;
    if (tries < QUICK_TRIES)
      hwi_arch_pause();
    else
      hwi_os_yield();
  }
}

/* --- closing ---
 *
 * While a fork is counted that closes the locks, no thread begins to wait for one of them. Threads that wait are let through first. But the
 * fork does not wait for them for long: a signal handler may have interrupted such a wait to fork, too, and each would wait for the other. So
 * a thread that waits looks now and then whether the lock is closed.
 */

static uint32_t closers; /* forks that are closing the locks, or have closed them */
static uint32_t waiting; /* calls of hwi_lock_wait; in the child of a fork within one, without that */
/* Of this thread. A signal handler may fork while its thread forks, so these are counted. */
static HWI_THREAD_LOCAL struct {
  uint32_t closing;      /* `closers` counts them */
  uint32_t forks_within; /* forks within a call or within another fork; they do not close the locks */
} thread_counts;

bool hwi_lock_is_closed(void)
{
  return __atomic_load_n(&closers, __ATOMIC_SEQ_CST);
}

/* A handler that forks sees both changes or none. The signals of faults are not held: none comes here, unless another process sends it. */
static void count_closing(uint32_t change)
{
  uint64_t held = hwi_os_hold_async_signals();
  thread_counts.closing += change;
  __atomic_add_fetch(&closers, change, __ATOMIC_SEQ_CST);
  hwi_os_release_signals(held);
}

static void begin_waiting(void)
{
  __atomic_add_fetch(&waiting, 1, __ATOMIC_SEQ_CST);
}

static void end_waiting(void)
{
  uint32_t count = __atomic_load_n(&waiting, __ATOMIC_RELAXED);
  while (count && !__atomic_compare_exchange_n(&waiting, &count, count - 1, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
    continue;
}

static void let_waiting_through(void)
{
  enum { MOST_NS = 10000000, PAUSE_NS = 50000 };
  uint64_t begin_ns = hwi_os_coarse_ns();
  while (__atomic_load_n(&waiting, __ATOMIC_SEQ_CST) && hwi_os_coarse_ns() - begin_ns < MOST_NS)
    hwi_os_sleep_ns(PAUSE_NS);
}

/* Waits until the thread has the lock, or it is closed. Returns whether it has it. */
static bool wait_while_open(struct hwi_lock *lock)
{
  enum { LOOK_NS = 2000000 };
  while (!hwi_lock_is_closed()) {
    enum wait_result result = wait_at_most(lock, LOOK_NS);
    if (result == IN_CIRCLE)
      give_up_in_circle();
    if (result == TAKEN)
      return true;
  }
  return false;
}

bool hwi_lock_wait(struct hwi_lock *lock)
{
  learn_tid();
  if (try_for_a_moment(lock))
    return true;
  begin_waiting();
  bool has_it = take_soon(lock, false) || wait_while_open(lock);
  end_waiting();
  return has_it;
}

static void give_if_mine(const struct hwi_lock_set *set)
{
  for (struct hwi_lock *lock = set->outer; (lock = set->next(lock)) != set->last;)
    if (hwi_lock_is_mine(lock))
      hwi_lock_give(lock);
}

/* The last lock goes first: a thread that waits for it may have another one, for which a handler that forks just now would wait. */
static void give_inner(const struct hwi_lock_set *set)
{
  hwi_lock_give(set->last);
  give_if_mine(set);
}

/* A handler that has interrupted the holder of a lock, and forks, wants `outer`, and all others. Returns false if there may be one; then none
 * of the locks is taken. */
static bool take_inner(const struct hwi_lock_set *set)
{
  enum { MOST_NS = 10000000 };
  for (struct hwi_lock *lock = set->outer; (lock = set->next(lock));)
    if (wait_at_most(lock, lock == set->last ? 0 : MOST_NS) != TAKEN) {
      give_if_mine(set);
      return false;
    }
  return true;
}

/* A process may have several copies of this library: malloc's and a program's own. A fork closes the locks of one after the other. If it
 * waits for a lock of the next one, whose holder a handler has interrupted to fork, the handler waits for the fork. Each of both learns of the
 * circle only while the other one waits: so each pauses, and this one for longer. */
static bool take_outer(const struct hwi_lock_set *set)
{
  enum { MOST_NS = 50000000, PAUSE_NS = 3000000 };
  for (;;) {
    enum wait_result result = wait_at_most(set->outer, MOST_NS);
    if (result != LATE)
      return result == TAKEN;
    hwi_os_sleep_ns(PAUSE_NS);
  }
}

/* Returns false, and closes nothing, if another fork has closed the locks, and waits for one that the thread has of another copy of this
 * library. */
static bool close_all(const struct hwi_lock_set *set)
{
  enum { PAUSE_NS = 1000000 };
  count_closing(1);
  let_waiting_through();
  while (take_outer(set)) {
    if (take_inner(set)) {
      hwi_lock_closed_by_me = true;
      return true;
    }
    hwi_lock_give(set->outer);
    hwi_os_sleep_ns(PAUSE_NS);
  }
  count_closing((uint32_t)-1);
  return false;
}

static void open_inner(const struct hwi_lock_set *set)
{
  hwi_lock_closed_by_me = false;
  count_closing((uint32_t)-1);
  give_inner(set);
}

/* Locks that the thread had are changed to its new tid; all others are free. What another thread was closing is open. */
static void renew_all(const struct hwi_lock_set *set)
{
  uint64_t held = hwi_os_hold_async_signals();
  uint32_t tid = hwi_os_tid();
  for (struct hwi_lock *lock = set->outer; lock; lock = set->next(lock))
    *lock = hwi_lock_is_mine(lock) ? (struct hwi_lock){tid, lock->taken_by} : (struct hwi_lock){0};
  hwi_lock_words = (struct hwi_lock_words){0, tid};
  closers = thread_counts.closing;
  waiting = 0;
  hwi_os_release_signals(held);
}

/* --- forks within a call, or within another fork --- */

/* Tries until then, and some times in any case. The thread that has the lock may wait for one that this thread has: by the lock, or by one
 * of libc's fork. */
static bool take_until(struct hwi_lock *lock, uint64_t end_ns)
{
  enum { LEAST_TRIES = 100, PAUSE_NS = 50000 };
  for (int tries = 0; !hwi_lock_try_take(lock); tries++) {
    if (tries >= LEAST_TRIES && hwi_os_coarse_ns() >= end_ns)
      return false;
    hwi_os_sleep_ns(PAUSE_NS);
  }
  lock->taken_by = thread_counts.forks_within;
  return true;
}

/* A thread that has the last lock has the others already, or must not wait for them: threads that have these wait for it. Another fork within
 * keeps the last lock until its end, also if it did not get the others. */
static void begin_fork_within(const struct hwi_lock_set *set)
{
  enum { PATIENCE_NS = 500000000 };
  thread_counts.forks_within++;
  if (hwi_lock_is_alone() || hwi_lock_is_mine(set->last))
    return;
  uint64_t end_ns = hwi_os_coarse_ns() + PATIENCE_NS;
  if (hwi_lock_is_mine(set->outer) || take_until(set->outer, end_ns))
    for (struct hwi_lock *lock = set->outer; (lock = set->next(lock)) != set->last;)
      if (!hwi_lock_is_mine(lock))
        take_until(lock, end_ns);
  take_until(set->last, end_ns + PATIENCE_NS);
}

static void give_if_taken_within(struct hwi_lock *lock)
{
  if (hwi_lock_is_mine(lock) && lock->taken_by == thread_counts.forks_within) {
    lock->taken_by = 0;
    hwi_lock_give(lock);
  }
}

static void end_fork_within(const struct hwi_lock_set *set)
{
  give_if_taken_within(set->last);
  if (hwi_lock_is_mine(set->outer)) {
    for (struct hwi_lock *lock = set->outer; (lock = set->next(lock));)
      give_if_taken_within(lock);
    give_if_taken_within(set->outer);
  }
  thread_counts.forks_within--;
}

/* --- forks --- */

bool hwi_lock_before_fork(const struct hwi_lock_set *set, bool has_inner)
{
  if (hwi_lock_is_alone() || hwi_lock_is_mine(set->outer) || has_inner) {
    begin_fork_within(set);
    return false;
  }
  if (close_all(set))
    return true;
  thread_counts.forks_within++; /* takes none: the fork that waits for this thread has them */
  return false;
}

bool hwi_lock_after_fork(const struct hwi_lock_set *set, bool is_child)
{
  bool was_within = thread_counts.forks_within;
  if (is_child)
    renew_all(set);
  if (was_within)
    end_fork_within(set);
  else
    open_inner(set);
  return !was_within;
}
