/* saving.c - saves the recording up to now as a trace of its own, in a process that the server does not wait for */
#include "live/saving.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/suffix.h"
#include "launch/save.h"
#include "platform/os_tools.h"
#include "report/json/json.h"

/* Writes the first name that no file has; no other viewer chooses it. Returns false if it is too long. */
static bool choose_name(char *name, size_t room, const char *path)
{
  static const char suffix[] = ".hwt";
  size_t bytes = strlen(path);
  if (hwi_has_suffix(path, bytes, suffix))
    bytes -= sizeof suffix - 1;
  for (unsigned number = 1;; number++) {
    const int used = snprintf(name, room, "%.*s.saved-%d-%u%s", (int)bytes, path, (int)getppid(), number, suffix);
    if (used < 0 || (size_t)used >= room)
      return false;
    if (access(name, F_OK) < 0)
      return true;
  }
}

static int save(const char *path, FILE *out, struct hwi_error *error)
{
  char name[4096];
  struct hwi_saved saved;
  if (!choose_name(name, sizeof name, path))
    return hwi_error_set(error, HW_ERR_USAGE, "the name of %s is too long for another one", path);
  int status = hwi_save(path, name, &saved, error);
  if (status < 0)
    return status;
  struct hwi_json json = {.out = out, .first = true};
  hwi_json_begin_object(&json, NULL);
  hwi_json_text(&json, "path", name);
  hwi_json_number(&json, "until_ns", saved.until_ns);
  hwi_json_end_object(&json);
  return 0;
}

/* In a process of its own, which keeps no connection of the server open. `alive` shows until when it runs. */
static _Noreturn void save_and_exit(const char *path, int document, int alive)
{
  enum { DOCUMENT = STDERR_FILENO + 1, ALIVE, OTHERS };
  struct hwi_error error = {.text = "no memory"};
  document = fcntl(document, F_DUPFD, OTHERS); /* neither may be in the other's place */
  alive = fcntl(alive, F_DUPFD, OTHERS);
  const bool is_apart = dup2(document, DOCUMENT) == DOCUMENT && dup2(alive, ALIVE) == ALIVE;
  hwi_os_close_from(OTHERS);
  hwi_os_unblock_signals();
  FILE *out = is_apart ? fdopen(DOCUMENT, "w") : NULL;
  const int status = out ? save(path, out, &error) : HW_ERR_MEMORY;
  if (status < 0 && out)
    fputs(error.text, out);
  const bool is_written = out && fflush(out) == 0;
  _exit(status == 0 && is_written ? EXIT_SUCCESS : EXIT_FAILURE);
}

bool hwi_saving_begin(struct hwi_saving *saving, const char *path)
{
  int alive[2];
  if (pipe2(alive, O_CLOEXEC) < 0)
    return false;
  *saving = (struct hwi_saving){.ended = alive[0], .document = memfd_create("saved", MFD_CLOEXEC)};
  saving->pid = saving->document < 0 ? -1 : fork();
  if (saving->pid == 0)
    save_and_exit(path, saving->document, alive[1]);
  const int os_error = errno;
  close(alive[1]);
  if (saving->pid > 0)
    return true;
  close(alive[0]);
  if (saving->document >= 0)
    close(saving->document);
  *saving = (struct hwi_saving){.ended = -1};
  errno = os_error;
  return false;
}

static int wait_for_end(struct hwi_saving *saving)
{
  int status = 0;
  while (waitpid(saving->pid, &status, 0) < 0 && errno == EINTR)
    ;
  close(saving->ended);
  saving->ended = -1;
  saving->pid = 0;
  return status;
}

void hwi_saving_take(struct hwi_saving *saving, struct hwi_live_answer *answer)
{
  const int status = wait_for_end(saving);
  const off_t end = lseek(saving->document, 0, SEEK_END);
  *answer =
      (struct hwi_live_answer){.form = HWI_LIVE_SAVED, .fd = saving->document, .bytes = end > 0 ? (uint64_t)end : 0};
  if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS)
    return;
  answer->fd = -1;
  if (pread(saving->document, answer->error, sizeof answer->error - 1, 0) <= 0)
    snprintf(answer->error, sizeof answer->error, "the process that saves the recording ended");
  close(saving->document);
}

void hwi_saving_stop(struct hwi_saving *saving)
{
  if (!saving->pid)
    return;
  kill(saving->pid, SIGTERM);
  wait_for_end(saving);
  close(saving->document);
}
