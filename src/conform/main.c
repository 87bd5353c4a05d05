/* main.c - heapwright-conform RULE SECONDS: tests one rule with the malloc that the program was started with
 *
 * `heapwright test` runs it once for each rule, with the library preloaded, so that a crash or a hang can be assigned
 * to a rule. Messages go to stdout; the exit status is an enum hwi_rule_result. `heapwright-conform --where` prints the
 * library that malloc is in.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "conform/conform.h"

struct rule {
  const char *name;
  void (*try)(void);
};

#define RULE(id, name, kind, promise) {name, hwi_rule_##id},
static const struct rule rules[] = {HWI_RULE_LIST(RULE)};

static const char *volatile now = "";
static pid_t main_pid;
static volatile pid_t awaited; /* the child that hwi_conform_wait waits for; 0: none */
unsigned hwi_conform_seconds;

enum { SECOND_NS = 1000000000 };

static struct {
  unsigned seconds, rounds;
  uint64_t used_ns; /* at the start of the round */
} time_limit;

/* --- messages --- */

static void say(const char *text, size_t bytes)
{
  if (write(STDOUT_FILENO, text, bytes) < 0)
    return; /* the tool has ended */
}

static _Noreturn void end_with(enum hwi_rule_result result, const char *format, va_list arguments)
{
  char text[512];
  int bytes = vsnprintf(text, sizeof text, format, arguments);
  say(text, bytes < (int)sizeof text ? (size_t)bytes : sizeof text - 1);
  _exit(result);
}

void hwi_conform_broken(const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  end_with(HWI_RULE_BROKEN, format, arguments);
}

void hwi_conform_untried(const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  end_with(HWI_RULE_UNTRIED, format, arguments);
}

void hwi_conform_now(const char *text)
{
  now = text;
}

void hwi_conform_wait(pid_t child, const char *what)
{
  int status = 0;
  awaited = child;
  EXPECT(child > 0 && waitpid(child, &status, 0) == child, "%s: fork failed", what);
  awaited = 0;
  if (WIFEXITED(status) && WEXITSTATUS(status) == HWI_RULE_BROKEN)
    _exit(HWI_RULE_BROKEN); /* the child has reported the reason */
  EXPECT(!WIFSIGNALED(status) || WTERMSIG(status) != SIGALRM, "%s: the child hangs", what);
  EXPECT(!WIFSIGNALED(status), "%s: the child died of SIG%s", what, sigabbrev_np(WTERMSIG(status)));
  EXPECT(WEXITSTATUS(status) == HWI_RULE_KEPT, "%s: the child ended with %d", what, WEXITSTATUS(status));
}

/* --- the process crashes or hangs --- */

/* A child's death is reported by its parent. */
static void on_death(int signal_number)
{
  if (getpid() == main_pid)
    say(now, strlen(now));
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

static uint64_t clock_ns(clockid_t clock)
{
  struct timespec used = {0};
  clock_gettime(clock, &used);
  return (uint64_t)used.tv_sec * SECOND_NS + (uint64_t)used.tv_nsec;
}

/* CPU time of this process and of the child that it waits for. */
static uint64_t used_cpu_ns(void)
{
  clockid_t clock;
  bool has_child = awaited > 0 && clock_getcpuclockid(awaited, &clock) == 0;
  return clock_ns(CLOCK_PROCESS_CPUTIME_ID) + (has_child ? clock_ns(clock) : 0);
}

void hwi_conform_limit(unsigned seconds)
{
  time_limit.seconds = seconds;
  time_limit.rounds = 1;
  time_limit.used_ns = used_cpu_ns();
  alarm(seconds);
}

/* If other programs keep the machine busy, a rule that makes progress has used the processor meanwhile; one that hangs
 * has not. */
static void on_limit(int signal_number)
{
  const int interrupted_errno = errno;
  uint64_t used_ns = used_cpu_ns(), least_ns = hwi_conform_least_ns(time_limit.seconds);
  bool has_gone_on = used_ns < time_limit.used_ns /* a child has ended */ || used_ns - time_limit.used_ns >= least_ns;
  if (time_limit.rounds++ >= HWI_CONFORM_ROUNDS_MAX || !has_gone_on)
    on_death(signal_number);
  time_limit.used_ns = used_ns;
  alarm(time_limit.seconds);
  errno = interrupted_errno;
}

static void watch_for_death(unsigned seconds)
{
  static const int deadly[] = {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGTRAP};
  static char stack[16384];
  main_pid = getpid();
  stack_t place = {.ss_sp = stack, .ss_size = sizeof stack};
  sigaltstack(&place, NULL);
  struct sigaction action = {.sa_handler = on_death, .sa_flags = SA_ONSTACK | SA_NODEFER};
  for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++)
    sigaction(deadly[i], &action, NULL);
  action = (struct sigaction){.sa_handler = on_limit, .sa_flags = SA_ONSTACK | SA_NODEFER | SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  hwi_conform_limit(seconds);
}

/* --- patterns and numbers --- */

static unsigned char pattern_byte(size_t index, uint32_t seed)
{
  return (unsigned char)(seed * 131 + index * 7 + (index >> 8) + 1);
}

void hwi_pattern_fill(void *block, size_t bytes, uint32_t seed)
{
  unsigned char *to = block;
  for (size_t i = 0; i < bytes; i++)
    to[i] = pattern_byte(i, seed);
}

size_t hwi_pattern_check(const void *block, size_t bytes, uint32_t seed)
{
  const unsigned char *from = block;
  size_t i = 0;
  while (i < bytes && from[i] == pattern_byte(i, seed))
    i++;
  return i;
}

size_t hwi_zero_check(const void *block, size_t bytes)
{
  const unsigned char *from = block;
  size_t i = 0;
  while (i < bytes && !from[i])
    i++;
  return i;
}

uint32_t hwi_random(uint32_t *state)
{
  *state ^= *state << 13;
  *state ^= *state >> 17;
  *state ^= *state << 5;
  return *state;
}

size_t hwi_random_size(uint32_t *state, size_t max)
{
  uint32_t kind = hwi_random(state) % 16;
  size_t limit = kind < 10 ? 256 : kind < 15 ? 4096 : max;
  return 1 + hwi_random(state) % (limit < max ? limit : max);
}

/* --- memory --- */

size_t hwi_resident_bytes(void)
{
  char text[64] = {0};
  int statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (statm < 0 || read(statm, text, sizeof text - 1) <= 0)
    hwi_conform_untried("/proc/self/statm cannot be read");
  close(statm);
  const char *second = strchr(text, ' ');
  return strtoul(second ? second : "0", NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

/* --- the program --- */

static int say_where(void)
{
  Dl_info info;
  if (!dladdr((void *)malloc, &info) || !info.dli_fname)
    return HWI_RULE_UNTRIED;
  say(info.dli_fname, strlen(info.dli_fname));
  return 0;
}

int main(int argc, char **argv)
{
  if (argc == 2 && !strcmp(argv[1], "--where"))
    return say_where();
  if (argc != 3)
    return HWI_RULE_UNKNOWN;
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
    if (!strcmp(rules[i].name, argv[1])) {
      hwi_conform_seconds = (unsigned)strtoul(argv[2], NULL, 10);
      watch_for_death(hwi_conform_seconds);
      rules[i].try();
      return HWI_RULE_KEPT;
    }
  return HWI_RULE_UNKNOWN;
}
