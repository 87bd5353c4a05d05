/* watch.c - watches a child process on Linux, so that its memory can be read when it is about to end
 *
 * The child is seized before it executes its program. A thread that ends stops once more, while the memory of the process is
 * still there: after exit handlers and destructors, and also if a signal ends the process. Threads that end together with the
 * process stop one after the other; their registers are stored, and the last one waits until the memory is read. An execution
 * in place of another program ends all threads but one, too: then what was stored is dropped.
 *
 * Which threads there are is known from /proc: a thread whose creation was not reported is then not missed.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/linux/tools/proc.h"

enum { PATH_BYTES = 64, EVENT_SHIFT = 16 };

int hwi_os_watch(struct hwi_os_watched *watched, uint32_t pid)
{
  *watched = (struct hwi_os_watched){.pid = pid};
  const long options = PTRACE_O_TRACEEXIT | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC;
  return ptrace(PTRACE_SEIZE, pid, NULL, options) < 0 ? -errno : 0;
}

void hwi_os_watched_release(struct hwi_os_watched *watched)
{
  free(watched->ending);
  *watched = (struct hwi_os_watched){0};
}

void hwi_os_watched_go_on(const struct hwi_os_watched *watched, int tid)
{
  (void)watched;
  ptrace(PTRACE_CONT, tid, NULL, NULL);
}

/* --- threads that end --- */

static struct hwi_os_ending_thread *find(const struct hwi_os_watched *watched, uint32_t tid)
{
  for (size_t i = 0; i < watched->count; i++)
    if (watched->ending[i].tid == tid)
      return &watched->ending[i];
  return NULL;
}

/* A thread that ended by itself has no use for its registers and for what is on its stack. The main thread's local storage stays:
 * its thread pointer is kept. */
static bool add(struct hwi_os_watched *watched, uint32_t tid)
{
  if (watched->count == watched->capacity) {
    const size_t capacity = watched->capacity ? 2 * watched->capacity : 16;
    void *more = realloc(watched->ending, capacity * sizeof *watched->ending);
    if (!more)
      return false;
    watched->ending = more;
    watched->capacity = capacity;
  }
  struct hwi_os_ending_thread *thread = &watched->ending[watched->count++];
  *thread = (struct hwi_os_ending_thread){.tid = tid};
  const bool is_known = hwi_os_thread_registers(tid, &thread->registers);
  const bool has_ended = thread->registers.system_call == SYS_exit;
  thread->has_registers = is_known && (!has_ended || tid == watched->pid);
  if (has_ended)
    thread->registers.count = thread->registers.vector_count = 0;
  return true;
}

static void forget(struct hwi_os_watched *watched, uint32_t tid)
{
  struct hwi_os_ending_thread *thread = find(watched, tid);
  if (thread && !thread->has_registers)
    *thread = watched->ending[--watched->count];
}

static bool others_run(const struct hwi_os_watched *watched)
{
  char path[PATH_BYTES];
  bool found = false;
  snprintf(path, sizeof path, "/proc/%u/task", watched->pid);
  DIR *tasks = opendir(path);
  if (!tasks)
    return false;
  for (struct dirent *entry; !found && (entry = readdir(tasks));) {
    const uint32_t tid = (uint32_t)strtoul(entry->d_name, NULL, 10);
    found = tid != 0 && !find(watched, tid);
  }
  closedir(tasks);
  return found;
}

static enum hwi_os_watched_event end_thread(struct hwi_os_watched *watched, pid_t tid, int *number)
{
  if (add(watched, (uint32_t)tid) && !others_run(watched)) {
    *number = tid;
    return HWI_OS_WATCHED_ENDING;
  }
  ptrace(PTRACE_CONT, tid, NULL, NULL);
  return HWI_OS_WATCHED_OTHER;
}

/* --- stops --- */

static bool is_thread(const struct hwi_os_watched *watched, pid_t tid)
{
  char path[PATH_BYTES];
  snprintf(path, sizeof path, "/proc/%u/task/%d", watched->pid, tid);
  return access(path, F_OK) == 0;
}

static bool stops(int signal)
{
  return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

static enum hwi_os_watched_event handle_stop(struct hwi_os_watched *watched, pid_t tid, int status, int *number)
{
  const int event = status >> EVENT_SHIFT, signal = WSTOPSIG(status);
  if (event == PTRACE_EVENT_EXIT)
    return end_thread(watched, tid, number);
  if (event == PTRACE_EVENT_STOP && stops(signal)) {
    ptrace(PTRACE_LISTEN, tid, NULL, NULL);
    *number = signal;
    return (uint32_t)tid == watched->pid ? HWI_OS_WATCHED_STOPPED : HWI_OS_WATCHED_OTHER;
  }
  if (event == PTRACE_EVENT_EXEC)
    watched->count = 0;
  if (event == PTRACE_EVENT_STOP && !is_thread(watched, tid)) /* clone() can make a process, too */
    ptrace(PTRACE_DETACH, tid, NULL, NULL);
  else
    ptrace(PTRACE_CONT, tid, NULL, (void *)(intptr_t)(event == 0 ? signal : 0));
  return HWI_OS_WATCHED_OTHER;
}

enum hwi_os_watched_event hwi_os_watched_next(struct hwi_os_watched *watched, int *number, struct rusage *usage)
{
  int status;
  /* __WCLONE leaves out the caller's other children, which are not watched. */
  const pid_t tid = wait4(-1, &status, __WCLONE | WNOHANG | WUNTRACED, usage);
  if (tid <= 0)
    return HWI_OS_WATCHED_NOTHING;
  if (WIFSTOPPED(status))
    return handle_stop(watched, tid, status, number);
  forget(watched, (uint32_t)tid);
  if ((uint32_t)tid != watched->pid)
    return HWI_OS_WATCHED_OTHER;
  *number = status;
  return HWI_OS_WATCHED_ENDED;
}
