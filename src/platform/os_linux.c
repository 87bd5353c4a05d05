/* os_linux.c - the seam to the kernel on Linux: memory, files, time, processes
 *
 * Everything goes by system calls of our own: the target may have replaced any function of libc, and libc's wrappers write
 * errno. madvise makes pages present and says where that cannot be (Linux 5.14); malloc needs it, too, so that no sandbox
 * kills for it. On older kernels two tricks serve: rt_sigprocmask with an impossible `how` reads eight bytes and says
 * EFAULT where they are unreadable; with no new set it writes the old one and says EFAULT where a store would have raised
 * SIGBUS. Both leave the signal mask alone.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h> /* RENAME_NOREPLACE */
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/decimal.h"
#include "platform/arch.h"
#include "platform/os.h"
#include "platform/os_vdso.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

enum { KERNEL_SIGSET_BYTES = 8, IMPOSSIBLE_HOW = -1 };

#define CALL(number, a, b, c, d, e, f) \
  hwi_arch_syscall((number), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
#define CALL0(number) CALL(number, 0, 0, 0, 0, 0, 0)
#define CALL1(number, a) CALL(number, a, 0, 0, 0, 0, 0)
#define CALL2(number, a, b) CALL(number, a, b, 0, 0, 0, 0)
#define CALL3(number, a, b, c) CALL(number, a, b, c, 0, 0, 0)
#define CALL4(number, a, b, c, d) CALL(number, a, b, c, d, 0, 0)

static bool is_error(long result)
{
  return (unsigned long)result > -4096UL;
}

/* --- memory --- */

void *hwi_os_map(size_t bytes)
{
  long at = CALL(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return is_error(at) ? NULL : (void *)at;
}

void hwi_os_unmap(void *start, size_t bytes)
{
  CALL2(SYS_munmap, start, bytes);
}

void hwi_os_map_reset(void *start, size_t bytes)
{
  CALL3(SYS_madvise, start, bytes, MADV_DONTNEED);
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

void hwi_os_replace_by_nothing(void *start, size_t bytes)
{
  CALL(SYS_mmap, start, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

int hwi_os_replace_by_private(void *start, size_t bytes)
{
  long at = CALL(SYS_mmap, start, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  return is_error(at) ? (int)at : 0;
}

int hwi_os_allow_access(void *start, size_t bytes)
{
  return (int)CALL3(SYS_mprotect, start, bytes, PROT_READ | PROT_WRITE);
}

void *hwi_os_map_on(void *page, size_t bytes)
{
  long at = CALL(SYS_mremap, page, 0, bytes, MREMAP_MAYMOVE, 0, 0);
  return is_error(at) ? NULL : (void *)at;
}

static bool is_page_readable(uintptr_t page)
{
  static _Atomic bool kernel_populates; /* what it refuses is then unreadable, and not unknown to it */
  long result = CALL3(SYS_madvise, page, HWI_OS_PAGE_BYTES, MADV_POPULATE_READ);
  if (result == 0 && !kernel_populates)
    kernel_populates = true;
  if (result == 0 || kernel_populates)
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

/* --- files --- */

static long map_part(long fd, struct hwi_os_part *part, int access)
{
  long at = CALL(SYS_mmap, NULL, part->bytes, access, MAP_SHARED | MAP_NORESERVE, fd, part->off);
  part->start = is_error(at) ? NULL : (void *)at;
  return is_error(at) ? at : 0;
}

/* Not through the mapping: where the disk is full, that would raise SIGBUS. */
static long put_contents(long fd, const struct hwi_os_part *part)
{
  long put = part->contents ? CALL4(SYS_pwrite64, fd, part->contents, part->contents_bytes, part->off) : 0;
  return put < 0 ? put : put < (long)part->contents_bytes ? -ENOSPC : 0;
}

static void unmap_part(const struct hwi_os_part *part)
{
  if (part->start)
    hwi_os_unmap(part->start, part->bytes);
}

static void unmake_file(const char *path, const struct hwi_os_part *head, const struct hwi_os_part *body)
{
  unmap_part(head);
  unmap_part(body);
  hwi_os_remove_file(path);
}

/* The file is empty for a moment, and then has the contents. */
static int make_file(const char *path, uint64_t bytes, struct hwi_os_part *head, struct hwi_os_part *body)
{
  long fd = CALL4(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0)
    return (int)fd;
  head->start = body->start = NULL;
  CALL2(SYS_fchmod, fd, 0600); /* whatever the umask left out */
  long result = map_part(fd, head, PROT_READ | PROT_WRITE);
  if (result == 0)
    result = map_part(fd, body, PROT_NONE);
  if (result == 0)
    result = put_contents(fd, head);
  if (result == 0)
    result = CALL2(SYS_ftruncate, fd, bytes);
  CALL1(SYS_close, fd);
  if (result)
    unmake_file(path, head, body);
  return (int)result;
}

/* PATH.PID.new. False: that is too long. */
static bool put_new_name(char to[HWI_OS_PATH_BYTES], const char *path)
{
  static const char suffix[] = ".new";
  char digits[HWI_DECIMAL_DIGITS];
  const char *first = hwi_decimal(digits, hwi_os_pid());
  size_t bytes = strlen(path), count = (size_t)(digits + sizeof digits - first);
  if (bytes + 1 + count + sizeof suffix > HWI_OS_PATH_BYTES)
    return false;
  memcpy(to, path, bytes);
  to[bytes] = '.';
  memcpy(to + bytes + 1, first, count);
  memcpy(to + bytes + 1 + count, suffix, sizeof suffix);
  return true;
}

/* What is killed on the way leaves a file of another name, and no two images that begin at once see each other's half made one.
 * Where the file system cannot rename so, or the name is too long, it has its own name from the start. */
int hwi_os_map_new_file(const char *path, uint64_t bytes, struct hwi_os_part *head, struct hwi_os_part *body)
{
  static char new_name[HWI_OS_PATH_BYTES];
  if (CALL3(SYS_faccessat, AT_FDCWD, path, F_OK) == 0)
    return -EEXIST;
  if (put_new_name(new_name, path) && make_file(new_name, bytes, head, body) == 0) {
    int result = (int)CALL(SYS_renameat2, AT_FDCWD, new_name, AT_FDCWD, path, RENAME_NOREPLACE, 0);
    if (result == 0)
      return 0;
    unmake_file(new_name, head, body);
    if (result == -EEXIST)
      return result;
  }
  return make_file(path, bytes, head, body);
}

int hwi_os_remove_file(const char *path)
{
  return (int)CALL3(SYS_unlinkat, AT_FDCWD, path, 0);
}

long hwi_os_read_file(const char *path, void *to, size_t bytes)
{
  long fd = CALL4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
  if (fd < 0)
    return fd;
  size_t have = 0;
  long got = 0;
  while (have < bytes && (got = CALL3(SYS_read, fd, (char *)to + have, bytes - have)) > 0)
    have += (size_t)got;
  CALL1(SYS_close, fd);
  return got < 0 && have == 0 ? got : (long)have;
}

long hwi_os_executable_path(char *to, size_t bytes)
{
  return CALL4(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", to, bytes);
}

long hwi_os_folder_path(char *to, size_t bytes)
{
  return CALL4(SYS_readlinkat, AT_FDCWD, "/proc/self/cwd", to, bytes);
}

long hwi_os_command_line(char *to, size_t bytes)
{
  return hwi_os_read_file("/proc/self/cmdline", to, bytes);
}

long hwi_os_environment(char *to, size_t bytes)
{
  return hwi_os_read_file("/proc/self/environ", to, bytes);
}

int hwi_os_make_dir(const char *path)
{
  long result = CALL3(SYS_mkdirat, AT_FDCWD, path, 0700);
  if (result != -EEXIST)
    return (int)result;
  long fd = CALL4(SYS_openat, AT_FDCWD, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
  if (fd < 0)
    return (int)fd;
  CALL1(SYS_close, fd);
  return 0;
}

bool hwi_os_file_is_mine(const char *path)
{
  struct statx info;
  long result = CALL(SYS_statx, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_TYPE | STATX_UID, &info, 0);
  return result == 0 && S_ISREG(info.stx_mode) && info.stx_uid == (uint32_t)CALL0(SYS_geteuid);
}

uint64_t hwi_os_free_disk_bytes(const char *dir)
{
  struct statfs fs;
  if (CALL2(SYS_statfs, dir, &fs) < 0)
    return 0;
  return (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize;
}

/* --- time --- */

static bool is_tsc_forbidden; /* to the vdso, too */

/* Without a system call where the kernel offers that: a sandbox may kill for it, and it costs a hundred times as much. */
static uint64_t clock_ns(clockid_t clock)
{
  struct timespec now = {0};
  hwi_os_clock_fn *read = is_tsc_forbidden ? NULL : hwi_os_vdso_clock();
  if (!read || read(clock, &now))
    CALL2(SYS_clock_gettime, clock, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t hwi_os_monotonic_ns(void)
{
  return clock_ns(CLOCK_MONOTONIC);
}

uint64_t hwi_os_realtime_ns(void)
{
  return clock_ns(CLOCK_REALTIME);
}

bool hwi_os_tsc_is_trusted(void)
{
  char name[8] = {0};
  int mode = 0;
  is_tsc_forbidden = CALL2(SYS_prctl, PR_GET_TSC, &mode) == 0 && mode == PR_TSC_SIGSEGV;
  if (is_tsc_forbidden)
    return false;
  hwi_os_read_file("/sys/devices/system/clocksource/clocksource0/current_clocksource", name, sizeof name - 1);
  return memcmp(name, "tsc\n", 4) == 0;
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

uint64_t hwi_os_hold_signals(void)
{
  uint64_t all = UINT64_MAX, before = 0;
  CALL4(SYS_rt_sigprocmask, SIG_BLOCK, &all, &before, KERNEL_SIGSET_BYTES);
  return before;
}

void hwi_os_release_signals(uint64_t held)
{
  CALL4(SYS_rt_sigprocmask, SIG_SETMASK, &held, NULL, KERNEL_SIGSET_BYTES);
}

void hwi_os_yield(void)
{
  CALL0(SYS_sched_yield);
}

/* "/proc/PID/stat" in `path`, which has room for it. */
static void stat_path(char path[32], uint32_t pid)
{
  static const char folder[] = "/proc/", name[] = "/stat";
  char digits[HWI_DECIMAL_DIGITS];
  const char *first = hwi_decimal(digits, pid);
  size_t count = (size_t)(digits + sizeof digits - first);
  memcpy(path, folder, sizeof folder - 1);
  memcpy(path + sizeof folder - 1, first, count);
  memcpy(path + sizeof folder - 1 + count, name, sizeof name);
}

uint64_t hwi_os_process_start(uint32_t pid)
{
  enum { START_FIELD = 22, FIELDS_BEFORE_NAME_END = 2 };
  char path[32], text[1024];
  stat_path(path, pid);
  long n = hwi_os_read_file(path, text, sizeof text - 1);
  if (n <= 0)
    return 0;
  text[n] = 0;
  char *at = strrchr(text, ')'); /* the name may hold blanks and parentheses */
  for (int field = FIELDS_BEFORE_NAME_END; at && field < START_FIELD; field++)
    at = strchr(at + 1, ' ');
  uint64_t start = 0;
  for (at = at ? at + 1 : text + n; *at >= '0' && *at <= '9'; at++)
    start = start * 10 + (uint64_t)(*at - '0');
  return start;
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

static uintptr_t thread_pointer_of_main; /* whose stack is the kernel's making, and libc's data is elsewhere */

static __attribute__((constructor)) void note_main_thread(void)
{
  thread_pointer_of_main = (uintptr_t)__builtin_thread_pointer();
}

/* libc's data about a thread lies at the end of the stack that it made for it. */
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
  struct rlimit limit;
  if (CALL4(SYS_prlimit64, 0, resource, NULL, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
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
