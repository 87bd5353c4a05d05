/* browser.c - opens the page of a running program in the user's browser */
#include "live/browser.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* In a process that nobody waits for. What browsers write is not for this terminal. */
static _Noreturn void execute(const char *url)
{
  sigset_t none;
  const int said = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3), nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  setsid();
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && nothing >= 0; fd++)
    dup2(nothing, fd);
  execlp("xdg-open", "xdg-open", url, (char *)NULL);
  dprintf(said, "heapwright: cannot open a browser (xdg-open: %s); open the address above yourself\n", strerror(errno));
  _exit(127);
}

void hwi_browser_open(const char *url)
{
  fflush(NULL);
  const pid_t between = fork();
  if (between == 0) {
    if (fork() == 0)
      execute(url);
    _exit(0);
  }
  while (between > 0 && waitpid(between, NULL, 0) < 0 && errno == EINTR)
    ;
}
