/* resident_process.c - a process that follows a long recording for viewers to come */
#include "launch/follow/resident_process.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "platform/os_tools.h"

/* Signals of the terminal are for the command: so it has a process group of its own, but no session. Linux may share the CPUs
 * between sessions (autogroup), and one of its own would take as much of them as the command's, however low its priority. */
static bool leave_all(void)
{
  const int none = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (none < 0 || setpgid(0, 0) < 0)
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
