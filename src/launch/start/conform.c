/* conform.c - runs heapwright-conform, the program that tests whether a malloc replacement keeps malloc's contract
 *
 * Its output goes to files in memory, so that it need not be read while the program runs, and a process that it leaves
 * running does not make us wait. The program leads a process group: a child that hangs is killed with it.
 */
#include "launch/start/conform.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "conform/conform.h"
#include "launch/target/preload.h"
#include "launch/tool_log.h"
#include "platform/os_tools.h"

#define PROGRAM_NAME "heapwright-conform"
static const uint64_t SECOND_NS = 1000000000;

/* --- a run of the program --- */

enum { ARGUMENTS_MAX = 4, POLL_NS = 1000000, CANNOT_START = 127 };

static _Noreturn void become(const char *path, const struct hwi_conform_run *run, int output, int errors)
{
  char *arguments[ARGUMENTS_MAX + 2] = {(char *)PROGRAM_NAME};
  for (int i = 0; i < ARGUMENTS_MAX && run->arguments[i]; i++)
    arguments[i + 1] = (char *)run->arguments[i];
  const struct rlimit no_core = {0, 0};
  hwi_os_end_with_parent();
  setpgid(0, 0);
  setrlimit(RLIMIT_CORE, &no_core);
  int null = open("/dev/null", O_RDONLY);
  bool is_ready = (run->preload ? setenv("LD_PRELOAD", run->preload, 1) : unsetenv("LD_PRELOAD")) == 0 && null >= 0 &&
                  dup2(null, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 && dup2(errors, STDERR_FILENO) >= 0;
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
static void await(pid_t pid, const struct hwi_conform_run *run, struct hwi_conform_end *end)
{
  const uint64_t began = hwi_monotonic_ns(), limit_ns = run->seconds * SECOND_NS,
                 idle_limit_ns = run->idle_seconds * SECOND_NS;
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

static int start(const char *path, const struct hwi_conform_run *run, struct hwi_conform_end *end)
{
  int output = memfd_create("output", MFD_CLOEXEC), errors = memfd_create("errors", MFD_CLOEXEC);
  pid_t pid = output >= 0 && errors >= 0 ? fork() : -1;
  if (pid == 0)
    become(path, run, output, errors);
  if (pid > 0) {
    setpgid(pid, pid); /* the child does the same; either may be first */
    await(pid, run, end);
    take_text(output, end->output, sizeof end->output);
    take_text(errors, end->errors, sizeof end->errors);
  }
  int os_error = errno;
  if (output >= 0)
    close(output);
  if (errors >= 0)
    close(errors);
  errno = os_error;
  return pid > 0 ? 0 : -1;
}

int hwi_conform_run(const struct hwi_conform_run *run, struct hwi_conform_end *end, struct hwi_error *error)
{
  char *path;
  *end = (struct hwi_conform_end){0};
  int status = hwi_installed_find(&path, PROGRAM_NAME, error);
  if (status < 0)
    return status;
  if (start(path, run, end) < 0)
    status = hwi_error_set(error, HW_ERR_IO, "cannot start %s: %s", path, strerror(errno));
  else if (WIFEXITED(end->wait_status) && WEXITSTATUS(end->wait_status) == CANNOT_START)
    status = hwi_error_set(error, HW_ERR_IO, "cannot run %s%s%s", path, *end->errors ? ": " : "", end->errors);
  free(path);
  return status;
}

/* --- the rules --- */

#define IS_PRACTICE_MUST false
#define IS_PRACTICE_CXX false
#define IS_PRACTICE_PRACTICE true
#define IS_CXX_MUST false
#define IS_CXX_CXX true
#define IS_CXX_PRACTICE false
#define RULE(id, name, kind, promise) {name, promise, IS_PRACTICE_##kind, IS_CXX_##kind},
const struct hwi_conform_rule hwi_conform_rules[] = {HWI_RULE_LIST(RULE)};
const size_t hwi_conform_rule_count = sizeof hwi_conform_rules / sizeof *hwi_conform_rules;

/* The program ends itself at its time limit, and then reports where it hung; it is killed if it cannot do so. Checking
 * the time uses the processor, so a program that waits for a child that still works is never idle for that long. */
enum { GRACE_SECONDS = 2 };

static void word_death(const struct hwi_conform_end *end, char *text, size_t room)
{
  int number = WTERMSIG(end->wait_status);
  const char *where = *end->output ? end->output : "before it began, or at an unknown place";
  if (end->is_late || number == SIGALRM)
    snprintf(text, room, "no end within %u s: %s", (unsigned)(end->duration_ns / SECOND_NS), where);
  else
    snprintf(text, room, "died of SIG%s: %s%s%s", sigabbrev_np(number) ? sigabbrev_np(number) : "?", where,
             *end->errors ? "; it printed: " : "", end->errors);
}

int hwi_conform_try(const struct hwi_conform_rule *rule, const char *preload, unsigned seconds,
                    struct hwi_conform_outcome *outcome, struct hwi_error *error)
{
  static const char runtime[] = "libstdc++.so.6";
  char limit[16], *both = NULL;
  *outcome = (struct hwi_conform_outcome){0};
  snprintf(limit, sizeof limit, "%u", seconds);
  if (preload && rule->is_cxx && asprintf(&both, "%s:%s", preload, runtime) < 0)
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory");
  const char *const arguments[] = {rule->name, limit, NULL};
  struct hwi_conform_run run = {arguments,
                                both           ? both
                                : rule->is_cxx ? runtime
                                               : preload,
                                seconds * HWI_CONFORM_ROUNDS_MAX + GRACE_SECONDS, seconds + GRACE_SECONDS};
  struct hwi_conform_end end;
  int status = hwi_conform_run(&run, &end, error);
  free(both);
  if (status < 0)
    return status;
  outcome->duration_ns = end.duration_ns;
  int verdict = WIFEXITED(end.wait_status) ? WEXITSTATUS(end.wait_status) : HWI_RULE_BROKEN;
  if (verdict == HWI_RULE_KEPT)
    return 0;
  outcome->result = verdict == HWI_RULE_UNTRIED ? HWI_CONFORM_UNTRIED
                    : rule->is_practice         ? HWI_CONFORM_DIFFERS
                                                : HWI_CONFORM_BROKEN;
  if (end.is_late || WIFSIGNALED(end.wait_status))
    word_death(&end, outcome->text, sizeof outcome->text);
  else if (*end.output)
    snprintf(outcome->text, sizeof outcome->text, "%s", end.output);
  else
    snprintf(outcome->text, sizeof outcome->text, "ended with status %d%s%s", verdict,
             *end.errors ? "; it printed: " : "", end.errors);
  return 0;
}
