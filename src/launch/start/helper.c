/* helper.c - runs heapwright-conform, the program that tests a malloc, and captures its output
 *
 * Its output goes to files in memory, so that it need not be read while the program runs, and a process that it leaves
 * running does not make us wait. The program leads a process group: a child that hangs is killed with it.
 */
#include "launch/start/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "launch/target/preload.h"
#include "launch/tool_log.h"
#include "platform/os_tools.h"

#define HELPER_NAME "heapwright-conform"

enum { ARGUMENTS_MAX = 4, POLL_NS = 1000000, CANNOT_START = 127 };
static const uint64_t second_ns = 1000000000;

static _Noreturn void become(const char *path, const struct hwi_helper_run *run, int said, int complained)
{
  char *arguments[ARGUMENTS_MAX + 2] = {(char *)HELPER_NAME};
  for (int i = 0; i < ARGUMENTS_MAX && run->arguments[i]; i++)
    arguments[i + 1] = (char *)run->arguments[i];
  const struct rlimit no_core = {0, 0};
  hwi_os_end_with_parent();
  setpgid(0, 0);
  setrlimit(RLIMIT_CORE, &no_core);
  int null = open("/dev/null", O_RDONLY);
  bool is_ready = (run->preload ? setenv("LD_PRELOAD", run->preload, 1) : unsetenv("LD_PRELOAD")) == 0 && null >= 0 &&
                  dup2(null, STDIN_FILENO) >= 0 && dup2(said, STDOUT_FILENO) >= 0 &&
                  dup2(complained, STDERR_FILENO) >= 0;
  if (is_ready)
    execv(path, arguments);
  _exit(CANNOT_START);
}

/* Returns true if the process has used the processor since the last call, or if that is unknown. */
static bool has_gone_on(pid_t pid, struct timespec *last_used)
{
  clockid_t clock;
  struct timespec used;
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) < 0)
    return true;
  bool has = used.tv_sec != last_used->tv_sec || used.tv_nsec != last_used->tv_nsec;
  *last_used = used;
  return has;
}

/* Waits until the process has ended or its time is over. */
static void await(pid_t pid, const struct hwi_helper_run *run, struct hwi_helper_end *end)
{
  const uint64_t began = hwi_monotonic_ns(), limit_ns = run->seconds * second_ns,
                 idle_limit_ns = run->idle_seconds * second_ns;
  uint64_t went_on_ns = 0;
  struct timespec used = {0};
  const struct timespec pause = {.tv_nsec = POLL_NS};
  while (waitpid(pid, &end->wait_status, WNOHANG) == 0) {
    end->duration_ns = hwi_monotonic_ns() - began;
    if (has_gone_on(pid, &used))
      went_on_ns = end->duration_ns;
    if (end->duration_ns > limit_ns || end->duration_ns - went_on_ns > idle_limit_ns) {
      end->is_late = true;
      kill(-pid, SIGKILL);
      waitpid(pid, &end->wait_status, 0);
      break;
    }
    nanosleep(&pause, NULL);
  }
  end->duration_ns = hwi_monotonic_ns() - began;
  kill(-pid, SIGKILL); /* processes that it left running */
}

/* Reads the text as one line: newlines become blanks, and control characters become question marks. */
static void take_text(int file, char *text, size_t room)
{
  ssize_t bytes = pread(file, text, room - 1, 0);
  size_t length = bytes > 0 ? (size_t)bytes : 0;
  while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == ' '))
    length--;
  text[length] = 0;
  for (size_t i = 0; i < length; i++)
    if ((unsigned char)text[i] < ' ')
      text[i] = text[i] == '\n' ? ' ' : '?';
}

static int start(const char *path, const struct hwi_helper_run *run, struct hwi_helper_end *end)
{
  int said = memfd_create("said", MFD_CLOEXEC), complained = memfd_create("complained", MFD_CLOEXEC);
  pid_t pid = said >= 0 && complained >= 0 ? fork() : -1;
  if (pid == 0)
    become(path, run, said, complained);
  if (pid > 0) {
    setpgid(pid, pid); /* the child does the same; either may be first */
    await(pid, run, end);
    take_text(said, end->said, sizeof end->said);
    take_text(complained, end->complained, sizeof end->complained);
  }
  int os_error = errno;
  if (said >= 0)
    close(said);
  if (complained >= 0)
    close(complained);
  errno = os_error;
  return pid > 0 ? 0 : -1;
}

int hwi_helper_run(const struct hwi_helper_run *run, struct hwi_helper_end *end, struct hwi_error *error)
{
  char *path;
  *end = (struct hwi_helper_end){0};
  int status = hwi_installed_find(&path, HELPER_NAME, error);
  if (status < 0)
    return status;
  if (start(path, run, end) < 0)
    status = hwi_error_set(error, HW_ERR_IO, "cannot start %s: %s", path, strerror(errno));
  else if (WIFEXITED(end->wait_status) && WEXITSTATUS(end->wait_status) == CANNOT_START)
    status = hwi_error_set(error, HW_ERR_IO, "cannot run %s%s%s", path, *end->complained ? ": " : "", end->complained);
  free(path);
  return status;
}
