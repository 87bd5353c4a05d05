/* interposed.c - functions that allocate nothing, but are interposed because their calls matter to the recorder
 *
 * After dlclose a module may be unloaded; a thread may set its name; prctl and seccomp may take from a thread the clock
 * or the system calls that the recorder needs. Each function calls its real counterpart and then reports the call, or
 * reports it before if the call takes something away. libc has no function for seccomp, only `syscall`.
 */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>

#include "platform/os.h"
#include "platform/os_inline.h"
#include "record/record.h"
#include "record/runtime/real.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED int dlclose(void *handle);
EXPORTED int pthread_setname_np(pthread_t thread, const char *name);
EXPORTED int prctl(int option, ...);

/* dlopen is not interposed: it uses the RUNPATH and the namespace of its caller. */
int dlclose(void *handle)
{
  if (!hwi_real_dlclose)
    hwi_real_find_interposed();
  int result = hwi_real_dlclose(handle);
  hwi_record_unloaded();
  return result;
}

/* --- names of threads: many threads set their name and end before it could be read from outside --- */

int pthread_setname_np(pthread_t thread, const char *name)
{
  if (!hwi_real_setname)
    hwi_real_find_interposed();
  int error = hwi_real_setname ? hwi_real_setname(thread, name) : ENOSYS;
  if (!error && pthread_equal(thread, pthread_self()))
    hwi_record_thread_name(name);
  return error;
}

/* --- a program's restrictions of itself: strict seccomp also forbids the TSC --- */

static void before(enum hwi_os_restriction loss)
{
  if (loss == HWI_OS_LOSES_TSC)
    hwi_record_before_tsc_is_forbidden();
  if (loss == HWI_OS_LOSES_TSC_AND_CALLS)
    hwi_record_before_seal();
}

static void after(enum hwi_os_restriction loss, bool is_done)
{
  if (loss == HWI_OS_LOSES_TSC_AND_CALLS)
    hwi_record_after_seal(is_done);
}

/* Like libc's own, it reads four more words from the places of arguments, whether or not the caller passed them. */
int prctl(int option, ...)
{
  unsigned long words[4];
  va_list list;
  va_start(list, option);
  for (int i = 0; i < 4; i++)
    words[i] = va_arg(list, unsigned long);
  va_end(list);
  if (!hwi_real_prctl)
    hwi_real_find_interposed();
  if (!hwi_real_prctl) {
    errno = ENOSYS;
    return -1;
  }
  enum hwi_os_restriction loss = hwi_os_prctl_restriction(option, words[0]);
  before(loss);
  int result = hwi_real_prctl(option, words[0], words[1], words[2], words[3]);
  after(loss, result == 0);
  if (hwi_os_prctl_sets_name(option) && result == 0)
    hwi_record_thread_name((const char *)words[0]);
  return result;
}

/* The implementation of `syscall` for the calls that matter to the recorder. */
static long interposed_syscall(long number, ...)
{
  long words[HWI_OS_SYSCALL_ARGUMENTS];
  va_list list;
  va_start(list, number);
  for (int i = 0; i < HWI_OS_SYSCALL_ARGUMENTS; i++)
    words[i] = va_arg(list, long);
  va_end(list);
  if (!hwi_real_syscall)
    hwi_real_find_interposed();
  if (!hwi_real_syscall) { /* too early: code of other libraries may run before they are relocated */
    long result;
    int error = hwi_os_program_syscall(number, words, &result);
    if (!error)
      return result;
    errno = -error;
    return -1;
  }
  enum hwi_os_restriction loss = hwi_os_syscall_restriction(number, words[0], words[1]);
  before(loss);
  long result = hwi_real_syscall(number, words[0], words[1], words[2], words[3], words[4], words[5]);
  after(loss, result == 0);
  return result;
}

EXPORTED HWI_OS_PASS_SYSCALL_ON(syscall, hwi_real_syscall, interposed_syscall)
