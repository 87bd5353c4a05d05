/* resident_process.c - a process that follows a long recording for viewers to come */
#include "launch/follow/resident_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/os_tools.h"

/* Signals of the terminal are for the command. */
static bool leave_all(void)
{
  const int none = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (none < 0 || setsid() < 0)
    return false;
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
    if (dup2(none, stream) != stream)
      return false;
  hwi_os_close_from(STDERR_FILENO + 1);
  hwi_os_unblock_signals();
  return true;
}

pid_t hwi_resident_process_start(void (*be)(const char *name), const char *name)
{
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid != 0)
    return pid;
  hwi_os_end_with_parent();
  if (getppid() == parent && leave_all())
    be(name);
  _exit(EXIT_SUCCESS);
}

void hwi_resident_process_end(pid_t pid)
{
  kill(pid, SIGKILL); /* it has nothing to save */
  while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
    ;
}
