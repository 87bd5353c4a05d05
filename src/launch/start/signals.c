/* signals.c - how the launcher handles signals */
#include "launch/start/signals.h"

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SECOND_NS = 1000000000 };

void hwi_signals_take(struct hwi_signals *signals)
{
  static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
  const struct sigaction standard = {.sa_handler = SIG_DFL}, ignore = {.sa_handler = SIG_IGN};
  sigfillset(&signals->blocked);
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    sigdelset(&signals->blocked, own[i]);
  sigprocmask(SIG_SETMASK, &signals->blocked, &signals->original);
  sigaction(SIGCHLD, &standard, &signals->child);   /* if it were ignored, we could not wait for the command */
  sigaction(SIGXFSZ, &ignore, &signals->file_size); /* EFBIG reports the same */
  sigaction(SIGPIPE, &ignore, &signals->pipe);
}

void hwi_signals_give_back(const struct hwi_signals *signals)
{
  sigaction(SIGCHLD, &signals->child, NULL);
  sigaction(SIGXFSZ, &signals->file_size, NULL);
  sigaction(SIGPIPE, &signals->pipe, NULL);
  sigprocmask(SIG_SETMASK, &signals->original, NULL);
}

/* Returns true if the command did not get the signal together with us. */
static bool is_for_us_alone(const siginfo_t *info, pid_t pid)
{
  siginfo_t state = {0};
  switch (info->si_signo) {
  case SIGCHLD: /* from the command, or a child that existed before we started */
  case SIGPIPE: /* caused by our own writing */
  case SIGXFSZ:
    return info->si_code <= 0;
  case SIGCONT: /* a shell continues the whole group, and the command runs already */
    return waitid(P_PID, (id_t)pid, &state, WCONTINUED | WNOHANG) == 0 && state.si_pid == 0;
  case SIGHUP: /* on hangup the terminal signals only the session leader */
    return info->si_code <= 0 || getsid(0) == getpid();
  default:
    return info->si_code <= 0; /* SI_USER, SI_QUEUE, SI_TKILL ...; the kernel's own are larger */
  }
}

static struct timespec timespec_of(uint64_t ns)
{
  return (struct timespec){(time_t)(ns / SECOND_NS), (long)(ns % SECOND_NS)};
}

void hwi_signals_wait(const struct hwi_signals *signals, pid_t pid, uint64_t timeout_ns)
{
  struct timespec timeout = timespec_of(timeout_ns);
  siginfo_t info;
  while (sigtimedwait(&signals->blocked, &info, &timeout) > 0) {
    if (is_for_us_alone(&info, pid) && info.si_pid != pid)
      kill(pid, info.si_signo);
    timeout = timespec_of(0); /* take all other pending signals, too */
  }
}

sigset_t hwi_signals_drop(const struct hwi_signals *signals, uint64_t timeout_ns)
{
  struct timespec timeout = timespec_of(timeout_ns);
  sigset_t taken;
  sigemptyset(&taken);
  for (int number; (number = sigtimedwait(&signals->blocked, NULL, &timeout)) > 0; timeout = timespec_of(0))
    sigaddset(&taken, number);
  return taken;
}

/* If the command stops itself with SIGSTOP, we stop, too, only if a shell with a terminal waits for us. Otherwise a
 * process that continues the command by its process ID would leave us stopped. */
void hwi_signals_stop_like(int signal)
{
  bool is_foreground = false;
  for (int fd = 0; fd < 3 && !is_foreground; fd++)
    is_foreground = tcgetpgrp(fd) == getpgrp();
  if (signal != SIGSTOP || is_foreground)
    kill(getpid(), SIGSTOP);
}
