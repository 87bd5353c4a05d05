/* spawn.c - starts the command: first its process, and its program when all is ready
 *
 * The process ID is part of the trace's name, and that name must be checked before the program starts. So the process
 * waits for its environment, which comes through a pipe. All descriptors are closed by exec; limits, niceness and
 * directory are never changed.
 */
#include "launch/start/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/start/heap_variables.h"

enum { CANCELLED = 125, READ_END = 0, WRITE_END = 1 };

static bool read_all(int fd, void *to, size_t bytes)
{
  for (size_t done = 0; done < bytes;) {
    ssize_t got = read(fd, (char *)to + done, bytes - done);
    if (got <= 0 && !(got < 0 && errno == EINTR))
      return false;
    done += got > 0 ? (size_t)got : 0;
  }
  return true;
}

static bool write_all(int fd, const void *from, size_t bytes)
{
  for (size_t done = 0; done < bytes;) {
    ssize_t put = write(fd, (const char *)from + done, bytes - done);
    if (put < 0 && errno != EINTR)
      return false;
    done += put > 0 ? (size_t)put : 0;
  }
  return true;
}

/* Each variable is sent as a length and a NAME=VALUE text. */
static bool receive_variables(int fd)
{
  uint64_t bytes;
  if (!read_all(fd, &bytes, sizeof bytes))
    return false;
  char *text = malloc(bytes + 1);
  if (!text || !read_all(fd, text, bytes))
    return false;
  text[bytes] = 0;
  for (char *at = text; at < text + bytes; at += strlen(at) + 1)
    if (putenv(at) != 0)
      return false;
  return true;
}

/* The shell runs a script without a first line "#!", as execvp does. */
static void execute(const struct hwi_spawn_plan *plan)
{
  execv(plan->path, plan->arguments);
  if (errno != ENOEXEC)
    return;
  size_t count = 0;
  while (plan->arguments[count])
    count++;
  char **with_shell = calloc(count + 2, sizeof *with_shell);
  if (!with_shell)
    return;
  with_shell[0] = (char *)"sh";
  with_shell[1] = (char *)plan->path;
  for (size_t i = 1; i < count; i++)
    with_shell[i + 1] = plan->arguments[i];
  execv("/bin/sh", with_shell);
}

static void become(const struct hwi_spawn_plan *plan, int go, int failed)
{
  if (!receive_variables(go))
    _exit(CANCELLED);
  hwi_heap_variables_drop_unknown();
  hwi_signals_give_back(plan->signals);
  execute(plan);
  int os_error = errno;
  write_all(failed, &os_error, sizeof os_error);
  _exit(CANCELLED);
}

static void close_pair(const int pair[2])
{
  close(pair[READ_END]);
  close(pair[WRITE_END]);
}

int hwi_spawn(struct hwi_spawned *spawned, const struct hwi_spawn_plan *plan)
{
  int go[2], failed[2];
  if (pipe2(go, O_CLOEXEC) < 0)
    return -1;
  if (pipe2(failed, O_CLOEXEC) < 0) {
    close_pair(go);
    return -1;
  }
  spawned->pid = fork();
  if (spawned->pid == 0) {
    close(go[WRITE_END]);
    close(failed[READ_END]);
    become(plan, go[READ_END], failed[WRITE_END]);
  }
  if (spawned->pid < 0) {
    close_pair(go);
    close_pair(failed);
    return -1;
  }
  close(go[READ_END]);
  close(failed[WRITE_END]);
  spawned->go = go[WRITE_END];
  spawned->failed = failed[READ_END];
  return 0;
}

static void finish(struct hwi_spawned *spawned, bool is_running)
{
  close(spawned->go);
  close(spawned->failed);
  if (!is_running)
    while (waitpid(spawned->pid, NULL, 0) < 0 && errno == EINTR)
      continue;
}

int hwi_spawn_go(struct hwi_spawned *spawned, char *const *variables)
{
  uint64_t bytes = 0;
  for (char *const *at = variables; *at; at++)
    bytes += strlen(*at) + 1;
  bool sent = write_all(spawned->go, &bytes, sizeof bytes);
  for (char *const *at = variables; *at && sent; at++)
    sent = write_all(spawned->go, *at, strlen(*at) + 1);
  int os_error = sent ? 0 : errno;
  if (sent && !read_all(spawned->failed, &os_error, sizeof os_error))
    os_error = 0; /* closed by exec */
  if (os_error == EPIPE && !sent)
    os_error = 0; /* the reader is gone: a signal ended the process, and its status says so, as after exec */
  finish(spawned, os_error == 0);
  return os_error;
}

void hwi_spawn_cancel(struct hwi_spawned *spawned)
{
  finish(spawned, false); /* closes `go`, so that the process ends */
}
