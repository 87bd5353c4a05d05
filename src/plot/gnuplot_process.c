/* gnuplot_process.c - runs gnuplot on a script
 *
 * The script and gnuplot's messages are in unnamed files, so that neither process waits for the other and no files are
 * left. The picture comes through a pipe and is written here, since gnuplot does not report write errors.
 */
#include "plot/gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct child {
  FILE *script, *messages;
  FILE *picture; /* our end of the pipe */
  pid_t pid;
};

static int cannot(struct hwi_error *error, const char *what)
{
  return hwi_error_set(error, HW_ERR_IO, "cannot %s: %m", what);
}

/* Returns 0 or an errno. */
static int spawn(struct child *child, int out)
{
  posix_spawn_file_actions_t actions;
  char name[] = "gnuplot", no_settings[] = "-d", from[] = "/dev/stdin";
  char *const arguments[] = {name, no_settings, from, NULL};
  int status = posix_spawn_file_actions_init(&actions);
  if (status != 0)
    return status;
  posix_spawn_file_actions_adddup2(&actions, fileno(child->messages), STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(child->script), STDIN_FILENO);
  status = posix_spawnp(&child->pid, name, &actions, NULL, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  return status;
}

/* Reads the first line that is not blank and not only the position of an error in the script, which gnuplot marks with
 * ^. */
static void read_complaint(FILE *messages, char *line, int bytes)
{
  rewind(messages);
  while (fgets(line, bytes, messages)) {
    line[strcspn(line, "\n")] = '\0';
    if (strspn(line, " \t^") < strlen(line) && strstr(line, "line "))
      return;
  }
  rewind(messages);
  if (!fgets(line, bytes, messages))
    *line = '\0';
  line[strcspn(line, "\n")] = '\0';
}

static int wait_for(struct child *child, struct hwi_error *error)
{
  int status;
  while (waitpid(child->pid, &status, 0) < 0) {
    if (errno != EINTR)
      return cannot(error, "wait for gnuplot");
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return HW_OK;
  char complaint[384];
  read_complaint(child->messages, complaint, sizeof complaint);
  if (WIFSIGNALED(status))
    return hwi_error_set(error, HW_ERR_IO, "gnuplot was killed by signal %d: %s", WTERMSIG(status), complaint);
  return hwi_error_set(error, HW_ERR_IO, "gnuplot failed: %s", complaint);
}

/* Starts gnuplot with the other end of a pipe as its output. Returns 0 or an errno. */
static int start(struct child *child)
{
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return errno;
  int status = spawn(child, ends[1]);
  close(ends[1]);
  child->picture = status == 0 ? fdopen(ends[0], "r") : NULL;
  if (!child->picture)
    close(ends[0]);
  return status;
}

/* Copies the picture and returns whether there was one. The caller checks `out` for write errors. */
static bool copy_picture(struct child *child, FILE *out)
{
  char bytes[16384];
  bool any = false;
  for (size_t got; child->picture && (got = fread(bytes, 1, sizeof bytes, child->picture)) > 0; any = true)
    fwrite(bytes, 1, got, out);
  if (child->picture)
    fclose(child->picture);
  return any;
}

static int draw(struct child *child, FILE *out, struct hwi_error *error)
{
  int status = start(child);
  if (status == ENOENT)
    return hwi_error_set(
        error, HW_ERR_IO,
        "gnuplot, which draws the charts, is not installed: apt-get install gnuplot-nox (or keep the script "
        "with -o FILE.gp)");
  errno = status;
  if (status != 0)
    return cannot(error, "start gnuplot");
  bool any = copy_picture(child, out);
  status = wait_for(child, error);
  return status == HW_OK && !any ? hwi_error_set(error, HW_ERR_IO, "gnuplot drew nothing") : status;
}

int hwi_gnuplot_run(const char *script, size_t bytes, FILE *out, struct hwi_error *error)
{
  struct child child = {.script = tmpfile(), .messages = tmpfile()};
  int status;
  if (!child.script || !child.messages || fwrite(script, 1, bytes, child.script) != bytes ||
      fflush(child.script) != 0 || fseek(child.script, 0, SEEK_SET) != 0)
    status = cannot(error, "pass the charts to gnuplot");
  else
    status = draw(&child, out, error);
  if (child.script)
    fclose(child.script);
  if (child.messages)
    fclose(child.messages);
  return status;
}
