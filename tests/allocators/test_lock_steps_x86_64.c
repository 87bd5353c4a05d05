/* test_lock_steps_x86_64.c - a signal handler forks at each instruction of a thread that waits for a lock, gets it and gives it, or does
 * not get it because it is closed; or that closes and opens all locks
 *
 * Breaks if the child counts a fork that it does not have, or not one that it has: its locks would stay closed, or be open too soon.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "../record/programs/stepping.h"

#include "allocators/lock.h"

enum { PATIENCE_S = 60, STEPS_OF_WAIT = 200 };

static struct hwi_lock outer, inner;

static struct hwi_lock *next_lock(const struct hwi_lock *lock)
{
  return lock == &outer ? &inner : NULL;
}

static const struct hwi_lock_set locks = {&outer, &inner, next_lock};

static volatile bool is_held, may_give, has_forked;
static volatile int steps, fork_at, give_at;
static enum hwi_lock_result result; /* of the last wait */
static volatile pid_t forked;

static void *hold(void *argument)
{
  hwi_lock_take_always(&inner);
  is_held = true;
  while (!may_give)
    sched_yield();
  hwi_lock_give(&inner);
  is_held = false;
  return argument;
}

static void *hold_closed(void *argument)
{
  hwi_lock_before_fork(&locks, false);
  is_held = true;
  while (!may_give)
    sched_yield();
  hwi_lock_after_fork(&locks, false);
  hwi_lock_give(&outer);
  is_held = false;
  return argument;
}

static void let_give(void)
{
  may_give = true;
  while (is_held)
    sched_yield();
}

static pid_t fork_with_locks(void)
{
  bool has_outer = hwi_lock_before_fork(&locks, hwi_lock_is_mine(&inner));
  pid_t child = fork();
  if (!child)
    alarm(PATIENCE_S);
  hwi_lock_after_fork(&locks, !child);
  if (has_outer)
    hwi_lock_give(&outer);
  return child;
}

/* A handler that forks is not that of a signal which must be held for the lock (SIGTRAP is not). */
static void on_step(int number, siginfo_t *info, void *argument)
{
  (void)number, (void)info;
  const ucontext_t *interrupted = argument;
  int step = ++steps;
  if (has_forked || !is_stepping)
    return;
  if (!may_give && (step == fork_at || step == give_at))
    let_give();
  if (step >= fork_at && !sigismember(&interrupted->uc_sigmask, SIGALRM)) {
    has_forked = true;
    forked = fork_with_locks();
  }
}

static void wait_for_lock(void)
{
  result = hwi_lock_enter(&inner);
  hwi_lock_leave(&inner, result);
}

static void close_and_open(void)
{
  bool has_outer = hwi_lock_before_fork(&locks, false);
  hwi_lock_after_fork(&locks, false);
  if (has_outer)
    hwi_lock_give(&outer);
}

static bool do_step_by_step(void (*steps_of)(void))
{
  begin_stepping();
  steps_of();
  end_stepping();
  if (!may_give)
    let_give();
  return inner.word == 0;
}

static bool is_free(void)
{
  return inner.word == 0 && outer.word == 0 && !hwi_lock_is_closed();
}

/* The locks are free, also after another fork. */
static bool is_as_before(void)
{
  bool was_free = is_free();
  pid_t child = fork_with_locks();
  if (!child)
    _exit(!is_free());
  int status;
  return was_free && waitpid(child, &status, 0) == child && status == 0 && is_free();
}

/* `holds`: what another thread does meanwhile, or NULL. Returns whether there is such a step. */
static bool fork_at_step(int step, void (*steps_of)(void), void *(*holds)(void *))
{
  pthread_t holder;
  has_forked = may_give = false;
  steps = 0;
  fork_at = step;
  if (holds)
    assert_int_equal(pthread_create(&holder, NULL, holds, NULL), 0);
  while (holds && !is_held)
    sched_yield();
  bool is_right = do_step_by_step(steps_of) && is_as_before();
  if (has_forked && !forked)
    _exit(!is_right);
  if (holds)
    assert_int_equal(pthread_join(holder, NULL), 0);
  if (!is_right)
    fail_msg("the parent, after step %d", step);
  int status = 0;
  if (has_forked && (waitpid(forked, &status, 0) != forked || status != 0))
    fail_msg("the child of step %d: status %#x", step, status);
  return has_forked;
}

/* Returns how many steps there are. */
static int fork_at_each_step(void (*steps_of)(void), void *(*holds)(void *))
{
#ifdef HW_SANITIZED_THREAD
  skip(); /* it runs handlers later */
#endif
  struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO}, before;
  sigaction(SIGTRAP, &action, &before);
  int count = 0;
  while (fork_at_step(count + 1, steps_of, holds))
    count++;
  sigaction(SIGTRAP, &before, NULL);
  return count;
}

static void a_thread_that_waits(void **state)
{
  (void)state;
  give_at = STEPS_OF_WAIT; /* it would wait for ever */
  assert_true(fork_at_each_step(wait_for_lock, hold) > STEPS_OF_WAIT);
  assert_int_equal(result, HWI_LOCK_TAKEN);
}

static void a_thread_that_need_not_wait(void **state)
{
  (void)state;
  give_at = 0;
  assert_true(fork_at_each_step(wait_for_lock, hold_closed) > 0);
  assert_int_equal(result, HWI_LOCK_CLOSED);
}

static void a_thread_that_forks(void **state)
{
  (void)state;
  give_at = 0;
  assert_true(fork_at_each_step(close_and_open, NULL) > 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_thread_that_waits),
      cmocka_unit_test(a_thread_that_need_not_wait),
      cmocka_unit_test(a_thread_that_forks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
