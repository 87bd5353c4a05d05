/* lock.c - where a thread has to wait, or others do */
#include "allocators/process/lock.h"

#include <errno.h>

#include "allocators/process/say.h"
#include "platform/os.h"
#include "platform/os_heap.h"

__thread uint32_t hwi_lock_tid;

static _Noreturn void give_up(const char *why)
{
  struct hwi_line line;
  hwi_line_begin(&line);
  hwi_line_text(&line, why);
  hwi_line_print(&line);
  hwi_say_stack();
  hwi_os_abort();
}

static bool take_if_free(struct hwi_lock *lock)
{
  uint32_t free = 0;
  return __atomic_compare_exchange_n(&lock->word, &free, hwi_lock_tid, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

void hwi_lock_wait(struct hwi_lock *lock)
{
  if (!hwi_lock_tid)
    hwi_lock_tid = hwi_os_tid();
  if (take_if_free(lock))
    return;
  int error = hwi_os_wait_for_lock(&lock->word);
  if (error == -EDEADLK)
    give_up("a signal's handler, or code that malloc itself runs, allocated while its thread was in malloc");
  if (error == -ESRCH)
    give_up("a thread ended while it was in malloc");
  while (error && !take_if_free(lock)) /* no such locks here: without inheritance, then */
    hwi_os_yield();
}

void hwi_lock_hand_on(struct hwi_lock *lock)
{
  if (hwi_os_hand_lock_on(&lock->word) != 0)
    __atomic_store_n(&lock->word, 0, __ATOMIC_RELEASE);
}
