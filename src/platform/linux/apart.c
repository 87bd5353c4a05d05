/* apart.c - starts a program on Linux that is not a child of this process
 *
 * This thread clones a helper, and the helper clones the process that executes the program. The helper ends at once, so
 * that the program is an orphan, whose parent is init. Both share this address space and run on stacks of their own,
 * while this thread waits (as vfork does): there is no copy of the page tables, and other threads go on. Both only make
 * system calls. The helper has no exit signal: this process gets no SIGCHLD for it, and only a wait with __WCLONE or
 * __WALL can see it, until this thread has reaped it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "platform/arch.h"
#include "platform/linux/call.h"
#include "platform/os.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

enum {
  STACK_BYTES = 64 << 10,
  SIGNALS = 64,
  KERNEL_SIGSET_BYTES = 8,
  CPU_MASK_BYTES = 1024,
  FIRST_FD = 3, /* after those of the standard streams */
  MOST_FDS = 1 << 16,
};
static const uint64_t NS_PER_SECOND = 1000000000, END_PATIENCE_NS = UINT64_C(5000000000);

struct kernel_action {
  void (*handler)(int);
  unsigned long flags;
  void (*restorer)(void);
  uint8_t mask[KERNEL_SIGSET_BYTES];
};

struct start {
  struct hwi_os_apart *apart;
  char *stacks; /* the helper's and the program's */
  long output;  /* the end of the pipe that the program gets */
  long failure;
};

/* --- in the new process --- */

/* A program of which the reader has gone gets an error when it writes, and goes on. */
static void reset_signals(void)
{
  struct kernel_action usual = {.handler = SIG_DFL}, ignored = {.handler = SIG_IGN};
  uint64_t none = 0;
  for (long signal = 1; signal <= SIGNALS; signal++)
    CALL4(SYS_rt_sigaction, signal, signal == SIGPIPE ? &ignored : &usual, NULL, KERNEL_SIGSET_BYTES);
  CALL4(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, KERNEL_SIGSET_BYTES);
}

/* This thread may be one of a real-time program, on a CPU of its own, or may not read the TSC. */
static void reset_cpu(void)
{
  struct sched_param none = {0};
  uint8_t all[CPU_MASK_BYTES];
  memset(all, UINT8_MAX, sizeof all);
  CALL3(SYS_sched_setscheduler, 0, SCHED_OTHER, &none);
  CALL3(SYS_sched_setaffinity, 0, sizeof all, all);
  CALL2(SYS_prctl, PR_SET_TSC, PR_TSC_ENABLE);
}

static void close_others(void)
{
  struct rlimit64 limit = {.rlim_cur = MOST_FDS};
  if (CALL3(SYS_close_range, FIRST_FD, ~0U, 0) == 0) /* Linux 5.9 */
    return;
  CALL4(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit);
  for (long fd = FIRST_FD; fd < (long)limit.rlim_cur && fd < MOST_FDS; fd++)
    CALL1(SYS_close, fd);
}

/* The ends of the pipe are after the standard streams. */
static void set_descriptors(long output)
{
  long nothing = CALL4(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY, 0);
  if (nothing > 0) /* 0: it is where it belongs */
    CALL3(SYS_dup3, nothing, 0, 0);
  CALL3(SYS_dup3, output, 1, 0);
  CALL3(SYS_dup3, output, 2, 0);
  close_others();
}

static void become_program(void *argument)
{
  struct start *start = argument;
  const struct hwi_os_apart *apart = start->apart;
  CALL0(SYS_setsid);
  set_descriptors(start->output);
  reset_cpu();
  reset_signals();
  int failure = -ENOENT;
  for (const char *const *path = apart->paths; *path; path++) {
    int result = hwi_os_execute(*path, apart->arguments, apart->variables);
    if (failure == -ENOENT && result != -ENOTDIR)
      failure = result;
  }
  start->failure = failure;
  for (;;)
    CALL1(SYS_exit_group, 1);
}

/* --- the helper --- */

static long clone_with(long flags, char *stack, void (*function)(void *), void *argument)
{
  return hwi_arch_clone(SYS_clone, flags | CLONE_VM | CLONE_VFORK, stack + STACK_BYTES, function, argument);
}

static void become_helper(void *argument)
{
  struct start *start = argument;
  long pid = clone_with(SIGCHLD, start->stacks + STACK_BYTES, become_program, start);
  if (pid < 0)
    start->failure = pid;
  else
    start->apart->pid = (uint32_t)pid;
  for (;;)
    CALL1(SYS_exit_group, 0);
}

/* --- in this process --- */

/* Signals are held so that no handler of the program runs in a process that is not the program's. */
static long run_helper(struct start *start)
{
  uint64_t held = hwi_os_hold_signals();
  long helper = clone_with(0, start->stacks, become_helper, start);
  if (helper > 0)
    CALL4(SYS_wait4, helper, NULL, __WCLONE, NULL);
  hwi_os_release_signals(held);
  if (helper > 0 && start->failure == 0 && !start->apart->pid) /* memory was not shared (valgrind) */
    return -ENOSYS;
  return helper < 0 ? helper : start->failure;
}

/* Makes a pipe whose ends are after the standard streams, which the program may have closed. */
static long make_pipe(int ends[2])
{
  long result = CALL2(SYS_pipe2, ends, O_CLOEXEC);
  for (int i = 0; i < 2 && result == 0; i++) {
    if (ends[i] >= FIRST_FD)
      continue;
    long moved = CALL3(SYS_fcntl, ends[i], F_DUPFD_CLOEXEC, FIRST_FD);
    result = moved < 0 ? moved : 0;
    CALL1(SYS_close, ends[i]);
    ends[i] = (int)moved;
    if (result < 0)
      CALL1(SYS_close, ends[!i]);
  }
  return result;
}

int hwi_os_start_apart(struct hwi_os_apart *apart)
{
  enum { READ_END, WRITE_END };
  int ends[2];
  struct start start = {.apart = apart, .stacks = hwi_os_map(2 * STACK_BYTES)};
  long result = hwi_os_is_sealed() ? -EPERM : start.stacks ? make_pipe(ends) : -ENOMEM;
  if (result == 0) {
    start.output = ends[WRITE_END];
    apart->output = ends[READ_END];
    result = run_helper(&start);
    hwi_os_close(ends[WRITE_END]);
    if (result < 0)
      hwi_os_close(ends[READ_END]);
    else
      apart->start = hwi_os_process_start(apart->pid);
  }
  if (start.stacks)
    hwi_os_unmap(start.stacks, 2 * STACK_BYTES);
  return (int)result;
}

/* Returns what poll returns, or -ETIMEDOUT. */
static long wait_until(long fd, uint64_t until_ns)
{
  struct pollfd one = {.fd = (int)fd, .events = POLLIN};
  long result;
  do {
    uint64_t now = hwi_os_monotonic_ns(), left_ns = now < until_ns ? until_ns - now : 0;
    struct {
      long seconds, ns;
    } left = {(long)(left_ns / NS_PER_SECOND), (long)(left_ns % NS_PER_SECOND)};
    result = CALL4(SYS_ppoll, &one, 1, &left, NULL); /* there is no poll on newer CPUs */
  } while (result == -EINTR);
  return result == 0 ? -ETIMEDOUT : result;
}

long hwi_os_read_until(int fd, void *to, size_t bytes, uint64_t until_ns)
{
  long result = wait_until(fd, until_ns);
  return result < 0 ? result : CALL3(SYS_read, fd, to, bytes);
}

void hwi_os_close(int fd)
{
  CALL1(SYS_close, fd);
}

void hwi_os_say(const char *text, size_t bytes)
{
  CALL3(SYS_write, 2, text, bytes);
}

/* Sends the signal to the process, which `fd` refers to if it is not negative. */
static long send(long fd, uint32_t pid, int signal)
{
  return fd < 0 ? CALL2(SYS_kill, pid, signal) : CALL4(SYS_pidfd_send_signal, fd, signal, NULL, 0);
}

static bool has_ended(long fd)
{
  return wait_until(fd, hwi_os_monotonic_ns() + END_PATIENCE_NS) > 0;
}

/* A process whose parent this is, because it takes in orphans (init, a subreaper), is reaped. */
int hwi_os_end_process(uint32_t pid, uint64_t process_start)
{
  long fd = CALL2(SYS_pidfd_open, pid, 0); /* Linux 5.3; from here on the ID is that of no other process */
  if (fd < 0 && fd != -ENOSYS)
    return (int)fd;
  long result = hwi_os_process_start(pid) == process_start ? send(fd, pid, SIGTERM) : -ESRCH;
  if (result == 0 && fd >= 0 && !has_ended(fd) && send(fd, pid, SIGKILL) == 0)
    has_ended(fd);
  if (result == 0)
    CALL4(SYS_wait4, pid, NULL, WNOHANG, NULL);
  if (fd >= 0)
    CALL1(SYS_close, fd);
  return (int)result;
}
