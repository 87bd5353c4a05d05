/* begin.h - starts an allocator, its threads and its forks, before a call may reach the user's functions
 *
 * Part of allocator.h. The first call of any entry point runs `init`. Until that has returned, calls from within it,
 * and calls that come before the loader has relocated this library (from an ifunc resolver of another one), are served
 * from a buffer in .bss, whose parts are never reused. After the start, this code costs one load and a branch per
 * call, and a comparison of the address in free.
 */
/* SPDX-License-Identifier: MIT */
#ifndef HEAPWRIGHT_DETAIL_BEGIN_H
#define HEAPWRIGHT_DETAIL_BEGIN_H

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "heapwright/detail/entries.h"

#define HW_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define HW_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define HW_COLD static __attribute__((noinline))
#define HW_THREAD_LOCAL static __thread __attribute__((tls_model("initial-exec")))

/* --- blocks for the time before --- */

enum { HW_BOOT_BYTES = 64 << 10, HW_BOOT_ALIGN = 16 };

static unsigned char hw_boot_buffer[HW_BOOT_BYTES] __attribute__((aligned(HW_BOOT_ALIGN)));
static size_t hw_boot_used;

HW_OPERATION bool hw_boot_owns(const void *block)
{
  return (uintptr_t)block - (uintptr_t)hw_boot_buffer < HW_BOOT_BYTES;
}

static size_t hw_boot_size(const void *block)
{
  size_t size;
  memcpy(&size, (const unsigned char *)block - HW_BOOT_ALIGN, sizeof size);
  return size;
}

/* Returns a zeroed block, or NULL if there is no memory. Its size is stored in the HW_BOOT_ALIGN bytes before it.
 * `size` and `align` are as in hw_allocator's alloc. */
HW_COLD void *hw_boot_alloc(size_t size, size_t align)
{
  size_t used = __atomic_load_n(&hw_boot_used, __ATOMIC_RELAXED), start;
  if (align < HW_BOOT_ALIGN)
    align = HW_BOOT_ALIGN;
  do {
    uintptr_t base = (uintptr_t)hw_boot_buffer;
    start = (size_t)(((base + used + HW_BOOT_ALIGN + align - 1) & ~(uintptr_t)(align - 1)) - base);
    if (start >= HW_BOOT_BYTES || size > HW_BOOT_BYTES - start)
      return NULL;
  } while (!__atomic_compare_exchange_n(&hw_boot_used, &used, start + size, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  memcpy(hw_boot_buffer + start - HW_BOOT_ALIGN, &size, sizeof size);
  return hw_boot_buffer + start;
}

/* --- the beginning --- */

enum { HW_NOT_BEGUN = 0, HW_BEGINNING, HW_BEGUN };

/* The destructors of a thread's keys are run at least this often; glibc and musl do not run them more often. */
enum { HW_THREAD_END_ROUNDS = 4 };

static unsigned char hw_begin_state;
HW_THREAD_LOCAL bool hw_is_in_init;      /* this thread runs `init` */
HW_THREAD_LOCAL bool hw_thread_is_known; /* thread_init was called on it, or is running */
static pthread_key_t hw_thread_key;
static bool hw_has_thread_key; /* false: thread_exit is not defined, or there are too many keys */

static void *volatile hw_relocated = (void *)&hw_relocated; /* 0 or an offset until this library is relocated */

HW_OPERATION bool hw_has_thread_hooks(void)
{
  return hw_given.thread_init || hw_given.thread_exit;
}

/* --- forks ---
 *
 * glibc's fork takes the lock of its list of streams after all handlers, and a thread that has that lock may be waiting
 * for the allocator: fflush(NULL), for a getline that makes room for a longer line. A thread that holds the allocator's
 * locks must not wait for that lock, so it is taken first, as glibc does with the locks of its own malloc; a thread may
 * take it again. Like glibc, this is not done in a process with one thread: the fork may be in a handler that has
 * interrupted stdio. Other libcs hold no such lock while they wait for malloc. */

extern void hw_stream_list_lock(void) __asm__("_IO_list_lock") __attribute__((weak));
extern void hw_stream_list_unlock(void) __asm__("_IO_list_unlock") __attribute__((weak));
extern void hw_stream_list_reset(void) __asm__("_IO_list_resetlock") __attribute__((weak));
extern char hw_is_single_threaded __asm__("__libc_single_threaded") __attribute__((weak)); /* glibc 2.32 */

HW_THREAD_LOCAL unsigned hw_forks; /* of this thread, in progress: a signal handler may fork while its thread forks */
HW_THREAD_LOCAL bool hw_has_stream_list;

static void hw_before_fork(void)
{
  if (hw_forks++)
    return; /* the thread is already set up */
  hw_has_stream_list = hw_stream_list_lock && !(&hw_is_single_threaded && hw_is_single_threaded);
  if (hw_has_stream_list)
    hw_stream_list_lock();
  if (hw_given.before_fork)
    hw_given.before_fork();
}

/* The thread's fork ends after the hook: a handler that interrupts the hook and forks must not take the locks that the
 * hook is about to release. */
static void hw_end_fork(bool is_child)
{
  if (hw_forks == 1) {
    if (hw_given.after_fork)
      hw_given.after_fork(is_child);
    if (hw_has_stream_list && is_child)
      hw_stream_list_reset(); /* libc has already reset the lock, and its count */
    else if (hw_has_stream_list)
      hw_stream_list_unlock();
  }
  hw_forks--;
}

static void hw_after_fork_in_parent(void)
{
  hw_end_fork(false);
}

static void hw_after_fork_in_child(void)
{
  hw_end_fork(true);
}

/* Destructors of other keys may allocate, so this one asks for another round until there are no more rounds. `round`
 * counts from 1. */
static void hw_thread_ends(void *round)
{
  uintptr_t next = (uintptr_t)round + 1;
  if (next > HW_THREAD_END_ROUNDS || pthread_setspecific(hw_thread_key, (void *)next) != 0)
    hw_given.thread_exit();
}

/* Handlers of pthread_atfork that are registered first run last before a fork and first after it. Ours are registered
 * at the first call, or, if nothing has allocated yet, by this library's constructor. */
static void hw_begin_process(void)
{
  if (hw_given.init)
    hw_given.init();
  if (hw_given.thread_exit)
    hw_has_thread_key = pthread_key_create(&hw_thread_key, hw_thread_ends) == 0;
  if (hw_given.before_fork || hw_given.after_fork)
    pthread_atfork(hw_before_fork, hw_after_fork_in_parent, hw_after_fork_in_child);
}

static void hw_begin_thread(void)
{
  hw_thread_is_known = true;
  if (hw_given.thread_init)
    hw_given.thread_init();
  if (hw_has_thread_key)
    pthread_setspecific(hw_thread_key, (void *)1);
}

/* Returns false if the call must be served by hw_boot_alloc. */
HW_COLD bool hw_begin(void)
{
  if (hw_relocated != (void *)&hw_relocated || hw_is_in_init)
    return false;
  unsigned char state = HW_NOT_BEGUN;
  if (__atomic_compare_exchange_n(&hw_begin_state, &state, (unsigned char)HW_BEGINNING, false, __ATOMIC_ACQUIRE,
                                  __ATOMIC_ACQUIRE)) {
    hw_is_in_init = true;
    hw_begin_process();
    hw_is_in_init = false;
    __atomic_store_n(&hw_begin_state, (unsigned char)HW_BEGUN, __ATOMIC_RELEASE);
  }
  while (__atomic_load_n(&hw_begin_state, __ATOMIC_ACQUIRE) != HW_BEGUN)
    sched_yield(); /* another thread runs `init` */
  if (hw_has_thread_hooks() && !hw_thread_is_known)
    hw_begin_thread();
  return true;
}

/* Returns whether the user's functions may be called. Thread-local storage can only be used once the library is
 * relocated. */
HW_OPERATION bool hw_has_begun(void)
{
  bool has_begun = __atomic_load_n(&hw_begin_state, __ATOMIC_ACQUIRE) == HW_BEGUN;
  return has_begun && (!hw_has_thread_hooks() || hw_thread_is_known);
}

HW_OPERATION bool hw_is_begun(void)
{
  return HW_LIKELY(hw_has_begun()) || hw_begin();
}

__attribute__((constructor)) static void hw_begin_at_load(void)
{
  hw_is_begun();
}

/* --- the environment --- */

extern char **hw_libc_environ __asm__("environ");
extern void *hw_stack_end __asm__("__libc_stack_end")
    __attribute__((weak)); /* glibc: argc, argv, NULL, environment, NULL */

/* Ended by NULL; NULL if there is none. */
static char **hw_environment(void)
{
  if (hw_libc_environ || !&hw_stack_end)
    return hw_libc_environ;
  uintptr_t *argc = (uintptr_t *)hw_stack_end;
  return (char **)(argc + 1) + *argc + 1;
}

static __attribute__((unused)) const char *hw_allocator_getenv(const char *name)
{
  size_t bytes = strlen(name);
  for (char **at = hw_environment(); at && *at; at++)
    if (!strncmp(*at, name, bytes) && (*at)[bytes] == '=')
      return *at + bytes + 1;
  return NULL;
}

#endif
