/* interposed.c - functions that allocate nothing, but are interposed because their calls matter to the recorder
 *
 * A module may be unloaded, or a thread has set its name. Each function calls its real counterpart and then reports. It
 * reports before if the call takes from the thread what the recorder needs, the clock or system calls. libc has no
 * function for seccomp, only `syscall`.
 */
#include <errno.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "platform/arch.h"
#include "record/record.h"
#include "record/runtime/real.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED int dlclose(void *handle);
EXPORTED int pthread_setname_np(pthread_t thread, const char *name);
EXPORTED int prctl(int option, ...);
EXPORTED void syscall(void); /* its arguments are unknown here */

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

enum forbidden { NOTHING, TSC, TSC_AND_CALLS };

static enum forbidden forbidden_by_prctl(long option, unsigned long word)
{
  if (option == PR_SET_SECCOMP && word == SECCOMP_MODE_STRICT)
    return TSC_AND_CALLS;
  return option == PR_SET_TSC && word == PR_TSC_SIGSEGV ? TSC : NOTHING;
}

static void before(enum forbidden what)
{
  if (what == TSC)
    hwi_record_before_tsc_is_forbidden();
  if (what == TSC_AND_CALLS)
    hwi_record_before_seal();
}

static void after(enum forbidden what, bool is_done)
{
  if (what == TSC_AND_CALLS)
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
  enum forbidden what = forbidden_by_prctl(option, words[0]);
  before(what);
  int result = hwi_real_prctl(option, words[0], words[1], words[2], words[3]);
  after(what, result == 0);
  if (option == PR_SET_NAME && result == 0)
    hwi_record_thread_name((const char *)words[0]);
  return result;
}

static enum forbidden forbidden_by(long number, long a, long b)
{
  if (number == SYS_seccomp)
    return a == SECCOMP_SET_MODE_STRICT ? TSC_AND_CALLS : NOTHING;
  return number == SYS_prctl ? forbidden_by_prctl(a, (unsigned long)b) : NOTHING;
}

enum { ARGUMENTS = 6, LARGEST_ERRNO = 4095 };

static long call_kernel(long number, const long words[ARGUMENTS])
{
  long result = hwi_arch_syscall(number, words[0], words[1], words[2], words[3], words[4], words[5]);
  if (result >= 0 || result < -LARGEST_ERRNO)
    return result;
  errno = (int)-result;
  return -1;
}

/* The implementation of `syscall` for the calls that matter to the recorder. */
static long interposed_syscall(long number, ...)
{
  long words[ARGUMENTS];
  va_list list;
  va_start(list, number);
  for (int i = 0; i < ARGUMENTS; i++)
    words[i] = va_arg(list, long);
  va_end(list);
  if (!hwi_real_syscall)
    hwi_real_find_interposed();
  if (!hwi_real_syscall) /* too early: code of other libraries may run before they are relocated */
    return call_kernel(number, words);
  enum forbidden what = forbidden_by(number, words[0], words[1]);
  before(what);
  long result = hwi_real_syscall(number, words[0], words[1], words[2], words[3], words[4], words[5]);
  after(what, result == 0);
  return result;
}

__attribute__((naked)) void syscall(void)
{
  HWI_ARCH_PASS_ON(hwi_real_syscall, interposed_syscall, SYS_seccomp, SYS_prctl);
}
