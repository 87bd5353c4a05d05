/* browser.c - opens the page of a running program in the user's browser */
#include "live/browser.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/os_tools.h"

/* In a process that nobody waits for. What browsers write is not for this terminal. */
static _Noreturn void execute(const char *guide)
{
  const int said = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3), nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  hwi_os_unblock_signals();
  setsid();
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && nothing >= 0; fd++)
    dup2(nothing, fd);
  execlp("xdg-open", "xdg-open", guide, (char *)NULL);
  dprintf(said, "heapwright: cannot open a browser (xdg-open: %s); open the address above yourself\n", strerror(errno));
  _exit(127);
}

/* Writes a page that leads to the other one: the command lines of processes can be read by all users of the machine, but
 * this file by its owner alone. Returns false if it cannot be written. */
static bool write_guide(char *path, size_t room, const char *url)
{
  const char *folder = getenv("XDG_RUNTIME_DIR");
  snprintf(path, room, "%s/heapwright-XXXXXX.html", folder && *folder == '/' ? folder : "/tmp");
  const int fd = mkostemps(path, sizeof ".html" - 1, O_CLOEXEC);
  if (fd < 0)
    return false;
  const bool done = dprintf(fd, "<!doctype html><meta http-equiv=\"refresh\" content=\"0; url=%s\">\n", url) > 0;
  close(fd);
  return done;
}

bool hwi_browser_open(struct hwi_browser *browser, const char *url)
{
  if (!write_guide(browser->guide, sizeof browser->guide, url)) {
    *browser->guide = 0;
    return false;
  }
  fflush(NULL);
  const pid_t between = fork();
  if (between == 0) {
    if (fork() == 0)
      execute(browser->guide);
    _exit(0);
  }
  while (between > 0 && waitpid(between, NULL, 0) < 0 && errno == EINTR)
    ;
  return true;
}

void hwi_browser_end(struct hwi_browser *browser)
{
  if (*browser->guide)
    unlink(browser->guide);
  *browser->guide = 0;
}
