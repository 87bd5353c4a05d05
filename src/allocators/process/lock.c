/* lock.c - where a thread has to wait, or others do */
#include "allocators/process/lock.h"

#include <errno.h>
#include <sched.h>

#include "allocators/process/say.h"
#include "platform/os.h"
#include "platform/os_heap.h"

__thread struct hwi_lock_words hwi_lock_words = {HWI_LOCK_NEVER, 0};

static const char never;
const char *hwi_lock_alone = &never;

void hwi_lock_begin(void)
{
  hwi_lock_alone = hwi_os_single_threaded_flag();
}

static _Noreturn void give_up(const char *why)
{
  struct hwi_saying line;
  hwi_say_begin(&line);
  hwi_say_text(&line, why);
  hwi_say_print(&line);
  hwi_say_stack();
  hwi_os_abort();
}

/* The kernel hands a lock that is waited for from one sleeping thread to the next, and while threads keep coming the queue never
 * empties: thousands of times slower than to try again. A thread without a real-time policy does that first: it takes no lock
 * that a more urgent one waits for, since that is never free. */
static bool take_soon(struct hwi_lock *lock)
{
  enum { TRIES = 100 };
  uint8_t policy, priority;
  hwi_os_thread_policy(&policy, &priority);
  if (policy != SCHED_OTHER && policy != SCHED_BATCH && policy != SCHED_IDLE)
    return false;
  for (int i = 0; i < TRIES; i++) {
    if (hwi_lock_try_take(lock))
      return true;
    hwi_os_yield();
  }
  return false;
}

void hwi_lock_wait(struct hwi_lock *lock)
{
  if (!hwi_lock_words.mine)
    hwi_lock_words = (struct hwi_lock_words){0, hwi_os_tid()};
  if (hwi_lock_try_take(lock) || take_soon(lock))
    return;
  int error = hwi_os_wait_for_lock(&lock->word);
  if (error == -EDEADLK)
    give_up("a signal's handler, or code that malloc itself runs, allocated while its thread was in malloc");
  if (error == -ESRCH)
    give_up("a thread ended while it was in malloc");
  while (error && !hwi_lock_try_take(lock)) /* no such locks here: without inheritance, then */
    hwi_os_yield();
}

void hwi_lock_hand_on(struct hwi_lock *lock)
{
  if (hwi_os_hand_lock_on(&lock->word) != 0)
    __atomic_store_n(&lock->word, 0, __ATOMIC_RELEASE);
}
