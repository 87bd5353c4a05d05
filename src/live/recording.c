/* recording.c - a recording that `heapwright live -- COMMAND` starts: a process of `heapwright record` */
#include "live/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/os_tools.h"

#include "trace/read/run.h"

/* Replaces a stream that is a terminal by the file `path``suffix`. Returns false if that is not possible. */
static bool replace_terminal(int stream, const char *path, const char *suffix)
{
  char name[4096];
  if (!isatty(stream))
    return true;
  if ((size_t)snprintf(name, sizeof name, "%s%s", path, suffix) >= sizeof name) {
    errno = ENAMETOOLONG;
    return false;
  }
  const int file = stream == STDIN_FILENO ? open(name, O_RDONLY) : open(name, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  return file >= 0 && dup2(file, stream) == stream && close(file) == 0;
}

static _Noreturn void fail(void)
{
  fprintf(stderr, "heapwright: cannot start the recording: %s\n", strerror(errno));
  _exit(125);
}

static void leave_terminal(const char *path)
{
  if (!replace_terminal(STDIN_FILENO, "/dev/null", "") || !replace_terminal(STDOUT_FILENO, path, ".out") ||
      !replace_terminal(STDERR_FILENO, path, ".err"))
    fail();
}

static _Noreturn void execute(const char *path, char *const *words)
{
  static const char self[] = "/proc/self/exe";
  static const char *const before[] = {"heapwright", "record", "-q", "-o"};
  enum { BEFORE = sizeof before / sizeof *before };
  size_t count = 0;
  while (words[count])
    count++;
  const char **all = calloc(BEFORE + count + 2, sizeof *all);
  if (all) {
    memcpy(all, before, sizeof before);
    all[BEFORE] = path;
    memcpy(all + BEFORE + 1, words, count * sizeof *words);
    hwi_os_unblock_signals();
    execv(self, (char *const *)(uintptr_t)all); /* exec does not change them */
  }
  fail();
}

/* Sets `id` to that of the image at `path`. Returns false if there is no trace. */
static bool read_id(const char *path, uint8_t id[HW_ID_BYTES])
{
  struct hwi_run run;
  if (hwi_run_find(&run, path, false, NULL) < 0)
    return false;
  memcpy(id, run.images[0].header.image_id, HW_ID_BYTES);
  hwi_run_release(&run);
  return true;
}

int hwi_recording_start(struct hwi_recording *recording, const char *path, char *const *words, bool leaves_terminal,
                        struct hwi_error *error)
{
  fflush(NULL);
  *recording = (struct hwi_recording){.path = path};
  (void)!read_id(path, recording->earlier);
  recording->pid = fork();
  if (recording->pid == 0 && leaves_terminal)
    leave_terminal(path);
  if (recording->pid == 0)
    execute(path, words);
  return recording->pid > 0 ? 0 : hwi_error_set(error, HW_ERR_IO, "cannot start the recording: %s", strerror(errno));
}

static bool look_for_end(struct hwi_recording *recording, int how)
{
  int status;
  pid_t got;
  do
    got = waitpid(recording->pid, &status, how);
  while (got < 0 && errno == EINTR);
  if (got == 0)
    return false;
  recording->has_ended = true;
  recording->exit_status = got < 0 ? 125 : WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return true;
}

bool hwi_recording_begins(struct hwi_recording *recording, int stop)
{
  enum { MOMENT_MS = 5 };
  struct pollfd wait = {.fd = stop, .events = POLLIN};
  uint8_t id[HW_ID_BYTES];
  for (;;) {
    const bool is_over = look_for_end(recording, WNOHANG);
    if (read_id(recording->path, id) && memcmp(id, recording->earlier, sizeof id) != 0)
      return true;
    if (is_over || poll(&wait, 1, MOMENT_MS) > 0)
      return false;
  }
}

bool hwi_recording_has_ended(struct hwi_recording *recording)
{
  return recording->has_ended || look_for_end(recording, WNOHANG);
}

int hwi_recording_end(struct hwi_recording *recording)
{
  if (!recording->has_ended)
    look_for_end(recording, 0);
  return recording->exit_status;
}
