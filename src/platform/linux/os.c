/* os.c - the interface to the kernel on Linux: memory, time, processes
 *
 * madvise makes pages present and reports if that is not possible (Linux 5.14). malloc needs it as well, so no sandbox
 * kills a process for it. On older kernels rt_sigprocmask serves instead. With an invalid `how` it reads eight bytes,
 * and returns EFAULT if they are unreadable; without a new set it writes the old one, and returns EFAULT if a store
 * would have raised SIGBUS. Neither call changes the signal mask.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

#include "base/decimal.h"
#include "platform/arch.h"
#include "platform/linux/call.h"
#include "platform/linux/vdso.h"
#include "platform/os.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

HWI_THREAD_LOCAL hwi_thread_flag hwi_call_is_sealed;

enum { KERNEL_SIGSET_BYTES = 8, IMPOSSIBLE_HOW = -1 };

/* --- memory --- */

/* What one thread unmaps, another one may get. The system orders that, and this shows it to the thread sanitizer. */
static unsigned unmap_count;

static void *map_with(long access, size_t bytes)
{
  long at = hwi_call_map(NULL, bytes, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  (void)__atomic_load_n(&unmap_count, __ATOMIC_ACQUIRE);
  return hwi_call_failed(at) ? NULL : (void *)at;
}

void *hwi_os_map(size_t bytes)
{
  return map_with(PROT_READ | PROT_WRITE, bytes);
}

void *hwi_os_reserve(size_t bytes)
{
  return map_with(PROT_NONE, bytes);
}

void hwi_os_unmap(void *start, size_t bytes)
{
  __atomic_add_fetch(&unmap_count, 1, __ATOMIC_RELEASE);
  CALL2(SYS_munmap, start, bytes);
}

void hwi_os_map_reset(void *start, size_t bytes)
{
  if (CALL3(SYS_madvise, start, bytes, MADV_DONTNEED) < 0)
    memset(start, 0, bytes);
}

int hwi_os_wipe_on_fork(void *page)
{
  return (int)CALL3(SYS_madvise, page, HWI_OS_PAGE_BYTES, MADV_WIPEONFORK);
}

int hwi_os_populate(void *start, size_t bytes)
{
  long result = CALL3(SYS_madvise, start, bytes, MADV_POPULATE_WRITE);
  if (result == 0 || result == -EFAULT)
    return (int)result;
  for (size_t off = 0; off < bytes; off += HWI_OS_PAGE_BYTES) {
    result = CALL4(SYS_rt_sigprocmask, SIG_BLOCK, NULL, (char *)start + off, KERNEL_SIGSET_BYTES);
    if (result < 0)
      return (int)result;
    memset((char *)start + off, 0, KERNEL_SIGSET_BYTES);
  }
  return 0;
}

int hwi_os_replace_by_nothing(void *start, size_t bytes)
{
  long at = hwi_call_map(start, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  return hwi_call_failed(at) ? (int)at : 0;
}

int hwi_os_replace_by_private(void *start, size_t bytes)
{
  long at = hwi_call_map(start, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  return hwi_call_failed(at) ? (int)at : 0;
}

int hwi_os_allow_access(void *start, size_t bytes)
{
  return (int)CALL3(SYS_mprotect, start, bytes, PROT_READ | PROT_WRITE);
}

void *hwi_os_map_on(void *page, size_t bytes)
{
  long at = CALL(SYS_mremap, page, 0, bytes, MREMAP_MAYMOVE, 0, 0);
  return hwi_call_failed(at) ? NULL : (void *)at;
}

/* A page is mapped twice, to see whether what is written to one mapping is in the other one. */
static bool maps_twice(void)
{
  const long at = hwi_call_map(NULL, HWI_OS_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (hwi_call_failed(at))
    return false;
  volatile char *const first = (volatile char *)at, *const second = hwi_os_map_on((void *)at, HWI_OS_PAGE_BYTES);
  if (second)
    *first = 1;
  const bool is_same = second && *second;
  if (second)
    hwi_os_unmap((void *)second, HWI_OS_PAGE_BYTES);
  hwi_os_unmap((void *)at, HWI_OS_PAGE_BYTES);
  return is_same;
}

bool hwi_os_can_map_on(void)
{
  static enum { UNKNOWN, YES, NO } answer; /* it never changes */
  if (answer == UNKNOWN)
    answer = maps_twice() ? YES : NO;
  return answer == YES;
}

static bool is_page_readable(uintptr_t page)
{
  static bool kernel_populates; /* true: an error of madvise means unreadable, not unsupported */
  long result = CALL3(SYS_madvise, page, HWI_OS_PAGE_BYTES, MADV_POPULATE_READ);
  bool is_known = __atomic_load_n(&kernel_populates, __ATOMIC_RELAXED);
  if (result == 0 && !is_known)
    __atomic_store_n(&kernel_populates, true, __ATOMIC_RELAXED);
  if (result == 0 || is_known)
    return result == 0;
  return CALL4(SYS_rt_sigprocmask, IMPOSSIBLE_HOW, page, NULL, KERNEL_SIGSET_BYTES) == -EINVAL;
}

size_t hwi_os_readable_pages(uintptr_t start, size_t count)
{
  if (count > 1 && CALL3(SYS_madvise, start, count * HWI_OS_PAGE_BYTES, MADV_POPULATE_READ) == 0)
    return count;
  size_t pages = 0;
  while (pages < count && is_page_readable(start + pages * HWI_OS_PAGE_BYTES))
    pages++;
  return pages;
}

bool hwi_os_page_size_is_usual(void)
{
  return getauxval(AT_PAGESZ) == HWI_OS_PAGE_BYTES;
}

/* --- time --- */

static bool is_tsc_forbidden; /* also to the vdso */

/* Uses the vdso if there is one: a system call costs a hundred times as much, and a sandbox may kill the process for
 * it. */
static uint64_t clock_ns(clockid_t clock)
{
  struct hwi_call_time now = {0};
  if (hwi_call_is_sealed)
    return 0;
  hwi_os_clock_fn *read = is_tsc_forbidden ? NULL : hwi_os_vdso_clock();
  if (!read || read(clock, &now))
    hwi_call_clock(clock, &now);
  return (uint64_t)now.seconds * 1000000000u + (uint64_t)now.ns;
}

uint64_t hwi_os_monotonic_ns(void)
{
  return clock_ns(CLOCK_MONOTONIC);
}

uint64_t hwi_os_coarse_ns(void)
{
  return clock_ns(CLOCK_MONOTONIC_COARSE);
}

uint64_t hwi_os_realtime_ns(void)
{
  return clock_ns(CLOCK_REALTIME);
}

bool hwi_os_tsc_is_trusted(void)
{
  static const char trusted[] = HWI_ARCH_CLOCK_SOURCE;
  char name[sizeof trusted] = {0};
  int mode = 0;
  is_tsc_forbidden = CALL2(SYS_prctl, PR_GET_TSC, &mode) == 0 && mode == PR_TSC_SIGSEGV;
  if (is_tsc_forbidden)
    return false;
  hwi_os_read_file("/sys/devices/system/clocksource/clocksource0/current_clocksource", name, sizeof name - 1);
  return memcmp(name, trusted, sizeof trusted - 1) == 0;
}

void hwi_os_leave_tsc(void)
{
  is_tsc_forbidden = true;
}

void hwi_os_seal(void)
{
  hwi_call_is_sealed = true;
}

void hwi_os_unseal(void)
{
  hwi_call_is_sealed = false;
}

bool hwi_os_is_sealed(void)
{
  return hwi_call_is_sealed;
}

enum hwi_os_restriction hwi_os_prctl_restriction(long option, unsigned long word)
{
  if (option == PR_SET_SECCOMP && word == SECCOMP_MODE_STRICT)
    return HWI_OS_LOSES_TSC_AND_CALLS;
  return option == PR_SET_TSC && word == PR_TSC_SIGSEGV ? HWI_OS_LOSES_TSC : HWI_OS_LOSES_NOTHING;
}

enum hwi_os_restriction hwi_os_syscall_restriction(long number, long a, long b)
{
  if (number == SYS_seccomp)
    return a == SECCOMP_SET_MODE_STRICT ? HWI_OS_LOSES_TSC_AND_CALLS : HWI_OS_LOSES_NOTHING;
  return number == SYS_prctl ? hwi_os_prctl_restriction(a, (unsigned long)b) : HWI_OS_LOSES_NOTHING;
}

bool hwi_os_prctl_sets_name(int option)
{
  return option == PR_SET_NAME;
}

int hwi_os_program_syscall(long number, const long arguments[HWI_OS_SYSCALL_ARGUMENTS], long *result)
{
  *result =
      hwi_arch_syscall(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
  return hwi_call_failed(*result) ? (int)*result : 0;
}

void hwi_os_random(void *to, size_t bytes)
{
  if (CALL3(SYS_getrandom, to, bytes, 0) == (long)bytes)
    return;
  uint64_t seed = hwi_os_monotonic_ns() ^ (uint64_t)hwi_os_pid() << 32 ^ hwi_arch_clock();
  for (size_t i = 0; i < bytes; i++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    ((uint8_t *)to)[i] = (uint8_t)(seed >> 56);
  }
}

/* --- processes and threads --- */

uint32_t hwi_os_pid(void)
{
  return (uint32_t)CALL0(SYS_getpid);
}

uint32_t hwi_os_ppid(void)
{
  return (uint32_t)CALL0(SYS_getppid);
}

uint32_t hwi_os_tid(void)
{
  return (uint32_t)CALL0(SYS_gettid);
}

int hwi_os_execute(const char *path, char *const *arguments, char *const *variables)
{
  return (int)CALL3(SYS_execve, path, arguments, variables);
}

static uint64_t hold(uint64_t signals)
{
  uint64_t before = 0;
  CALL4(SYS_rt_sigprocmask, SIG_BLOCK, &signals, &before, KERNEL_SIGSET_BYTES);
  return before;
}

uint64_t hwi_os_hold_signals(void)
{
  return hold(UINT64_MAX);
}

static uint64_t bit(int signal)
{
  return (uint64_t)1 << (signal - 1);
}

uint64_t hwi_os_hold_async_signals(void)
{
  return hold(~(bit(SIGILL) | bit(SIGTRAP) | bit(SIGBUS) | bit(SIGFPE) | bit(SIGSEGV) | bit(SIGSYS)));
}

void hwi_os_release_signals(uint64_t held)
{
  CALL4(SYS_rt_sigprocmask, SIG_SETMASK, &held, NULL, KERNEL_SIGSET_BYTES);
}

void hwi_os_yield(void)
{
  CALL0(SYS_sched_yield);
}

enum { PROC_PATH_BYTES = 40 };

/* Writes "/proc/PID", or "/proc/self" for 0, followed by `name`. */
static void proc_path(char path[PROC_PATH_BYTES], uint32_t pid, const char *name)
{
  static const char folder[] = "/proc/";
  char digits[HWI_DECIMAL_DIGITS];
  const char *first = pid ? hwi_decimal(digits, pid) : "self";
  size_t count = pid ? (size_t)(digits + sizeof digits - first) : strlen(first);
  memcpy(path, folder, sizeof folder - 1);
  memcpy(path + sizeof folder - 1, first, count);
  memcpy(path + sizeof folder - 1 + count, name, strlen(name) + 1);
}

/* Returns the decimal number that `text` begins with. */
static uint64_t number_at(const char *text)
{
  uint64_t number = 0;
  for (; *text >= '0' && *text <= '9'; text++)
    number = number * 10 + (uint64_t)(*text - '0');
  return number;
}

uint64_t hwi_os_process_start(uint32_t pid)
{
  enum { START_FIELD = 22, FIELDS_BEFORE_NAME_END = 2 };
  char path[PROC_PATH_BYTES], text[1024];
  proc_path(path, pid, "/stat");
  long n = hwi_os_read_file(path, text, sizeof text - 1);
  if (n <= 0)
    return 0;
  text[n] = 0;
  char *at = strrchr(text, ')'); /* the name may contain spaces and parentheses */
  for (int field = FIELDS_BEFORE_NAME_END; at && field < START_FIELD; field++)
    at = strchr(at + 1, ' ');
  return at ? number_at(at + 1) : 0;
}

uint32_t hwi_os_pid_namespace(uint32_t pid)
{
  char path[PROC_PATH_BYTES], text[64]; /* "pid:[4026531836]" */
  proc_path(path, pid, "/ns/pid");
  long n = CALL4(SYS_readlinkat, AT_FDCWD, path, text, sizeof text - 1);
  if (n <= 0)
    return 0;
  text[n] = 0;
  const char *bracket = strchr(text, '[');
  return bracket ? (uint32_t)number_at(bracket + 1) : 0;
}

void hwi_os_thread_name(char name[HWI_OS_NAME_BYTES])
{
  memset(name, 0, HWI_OS_NAME_BYTES);
  CALL2(SYS_prctl, PR_GET_NAME, name);
}

void hwi_os_thread_policy(uint8_t *policy, uint8_t *priority)
{
  enum { UNKNOWN_POLICY = 255 };
  struct sched_param param = {0};
  long result = CALL1(SYS_sched_getscheduler, 0);
  *policy = result < 0 ? UNKNOWN_POLICY : (uint8_t)(result & ~SCHED_RESET_ON_FORK);
  *priority = CALL2(SYS_sched_getparam, 0, &param) < 0 ? 0 : (uint8_t)param.sched_priority;
}

uint64_t hwi_os_rss_peak_bytes(void)
{
  struct rusage usage = {0};
  CALL2(SYS_getrusage, RUSAGE_SELF, &usage);
  return (uint64_t)usage.ru_maxrss * 1024;
}

static uintptr_t thread_pointer_of_main; /* the kernel made its stack, and libc's data is elsewhere */

static __attribute__((constructor)) void note_main_thread(void)
{
  thread_pointer_of_main = (uintptr_t)__builtin_thread_pointer();
}

/* libc stores its data about a thread at the end of the stack that it made for the thread. */
uintptr_t hwi_os_own_stack_end(void)
{
  uintptr_t thread_pointer = (uintptr_t)__builtin_thread_pointer();
  return thread_pointer == thread_pointer_of_main ? getauxval(AT_RANDOM) : thread_pointer;
}

bool hwi_os_is_privileged(void)
{
  return getauxval(AT_SECURE) != 0;
}

static uint64_t limit_of(int resource)
{
  struct rlimit64 limit;
  if (CALL4(SYS_prlimit64, 0, resource, NULL, &limit) < 0 || limit.rlim_cur == RLIM64_INFINITY)
    return UINT64_MAX;
  return limit.rlim_cur;
}

uint64_t hwi_os_file_size_limit(void)
{
  return limit_of(RLIMIT_FSIZE);
}

uint64_t hwi_os_address_space_limit(void)
{
  return limit_of(RLIMIT_AS);
}
