/* noticed.c - functions that allocate nothing, interposed because of what their calls tell the recorder
 *
 * A module may be gone, or a thread has named itself. Each calls its real counterpart, and only then reports; save where the call
 * takes from the thread what the recorder needs, the time or the kernel. There is no seccomp in libc, only `syscall`.
 */
#include <errno.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "platform/arch.h"
#include "record/real.h"
#include "record/record.h"

#define NOTICED __attribute__((visibility("default")))

NOTICED int dlclose(void *handle);
NOTICED int pthread_setname_np(pthread_t thread, const char *name);
NOTICED int prctl(int option, ...);
NOTICED void syscall(void); /* its arguments are not ours to know */

/* dlopen stays alone: the caller's own RUNPATH and namespace hang on who calls it. */
int dlclose(void *handle)
{
  if (!hwi_real_dlclose)
    hwi_real_find_noticed();
  int result = hwi_real_dlclose(handle);
  hwi_record_unloaded();
  return result;
}

/* --- names of threads: many name themselves and are gone before anybody could look from outside --- */

int pthread_setname_np(pthread_t thread, const char *name)
{
  if (!hwi_real_setname)
    hwi_real_find_noticed();
  int error = hwi_real_setname ? hwi_real_setname(thread, name) : ENOSYS;
  if (!error && pthread_equal(thread, pthread_self()))
    hwi_record_thread_name(name);
  return error;
}

/* --- what a program forbids itself: strict seccomp forbids the TSC, too --- */

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

/* As libc's own, it takes four more words from wherever they would be, whether the caller gave so many or not. */
int prctl(int option, ...)
{
  unsigned long words[4];
  va_list list;
  va_start(list, option);
  for (int i = 0; i < 4; i++)
    words[i] = va_arg(list, unsigned long);
  va_end(list);
  if (!hwi_real_prctl)
    hwi_real_find_noticed();
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

/* What `syscall` is for the calls that may be noticed. */
static long noticed_syscall(long number, ...)
{
  long words[ARGUMENTS];
  va_list list;
  va_start(list, number);
  for (int i = 0; i < ARGUMENTS; i++)
    words[i] = va_arg(list, long);
  va_end(list);
  if (!hwi_real_syscall)
    hwi_real_find_noticed();
  if (!hwi_real_syscall) /* too early for that: code of other libraries may run before they are relocated */
    return call_kernel(number, words);
  enum forbidden what = forbidden_by(number, words[0], words[1]);
  before(what);
  long result = hwi_real_syscall(number, words[0], words[1], words[2], words[3], words[4], words[5]);
  after(what, result == 0);
  return result;
}

__attribute__((naked)) void syscall(void)
{
  HWI_ARCH_PASS_ON(hwi_real_syscall, noticed_syscall, SYS_seccomp, SYS_prctl);
}
