/* noticed.c - functions that allocate nothing, interposed because of what their calls tell the recorder
 *
 * A module may be gone, or a thread has named itself. Each calls its real counterpart, and only then reports; save where the call
 * takes from the thread what the recorder needs, the time or the kernel. Who enters strict seccomp by `syscall` is not noticed:
 * between a program and that function, which also forks and clones, nothing should stand.
 */
#include <errno.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/prctl.h>

#include "record/real.h"
#include "record/record.h"

#define NOTICED __attribute__((visibility("default")))

NOTICED int dlclose(void *handle);
NOTICED int pthread_setname_np(pthread_t thread, const char *name);
NOTICED int prctl(int option, ...);

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
  bool is_seal = option == PR_SET_SECCOMP && words[0] == SECCOMP_MODE_STRICT;
  if (is_seal)
    hwi_record_before_seal();
  if (option == PR_SET_TSC && words[0] == PR_TSC_SIGSEGV)
    hwi_record_before_tsc_is_forbidden();
  int result = hwi_real_prctl(option, words[0], words[1], words[2], words[3]);
  if (is_seal)
    hwi_record_after_seal(result == 0);
  if (option == PR_SET_NAME && result == 0)
    hwi_record_thread_name((const char *)words[0]);
  return result;
}
