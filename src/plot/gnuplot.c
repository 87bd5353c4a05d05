/* gnuplot.c - the head of a script for gnuplot, and running gnuplot on it
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

#include "plot/script.h"
#include "report/names/named_frames.h"

extern char **environ;

/* --- the head of a script --- */

/* Writes the output "NAME.pdf" for NAME.gp, relative to gnuplot's working directory. */
static void write_output(FILE *script, const char *path)
{
  static const char suffix[] = ".gp";
  const char *name = path ? hwi_base_name(path) : "heapwright.gp";
  size_t bytes = strlen(name);
  if (bytes > sizeof suffix - 1 && strcmp(name + bytes - (sizeof suffix - 1), suffix) == 0)
    bytes -= sizeof suffix - 1;
  struct hwi_line output = {0};
  hwi_line_add(&output, name, bytes);
  hwi_line_puts(&output, ".pdf");
  fputs("set output ", script);
  hwi_script_line(script, &output);
  fputs("\n", script);
  hwi_line_release(&output);
}

void hwi_gnuplot_begin(const struct hwi_canvas *canvas, FILE *script)
{
  const double svg_a_cm = 47, png_a_cm = 94; /* points; the texts and points of a PDF are scaled accordingly */
  fputs("# Charts of a heap by heapwright. To draw them: gnuplot -d FILE\n"
        "# The data are before each chart, in bytes and nanoseconds, as in `heapwright report --json`.\n\n"
        "set encoding utf8\nset micro\n",
        script);
  switch (canvas->form) {
  case HWI_PLOT_SCRIPT:
  case HWI_PLOT_PDF: /* with 0.75, font sizes are in points */
    fprintf(script, "set terminal pdfcairo noenhanced color font 'DejaVu Sans,9' fontscale 0.75 size %.2fcm, %.2fcm\n",
            canvas->width_cm, canvas->height_cm);
    break;
  case HWI_PLOT_SVG:
    fprintf(script,
            "set terminal svg noenhanced font 'DejaVu Sans,9' fontscale 1.45 size %.0f, %.0f background '#ffffff'\n",
            canvas->width_cm * svg_a_cm, canvas->height_cm * svg_a_cm);
    break;
  case HWI_PLOT_PNG:
    fprintf(
        script,
        "set terminal pngcairo noenhanced font 'DejaVu Sans,9' fontscale 2.2 pointscale 2.2 linewidth 2 dashlength 2 size %.0f, %.0f background "
        "'#ffffff'\n",
        canvas->width_cm * png_a_cm, canvas->height_cm * png_a_cm);
    break;
  }
  if (canvas->form == HWI_PLOT_SCRIPT)
    write_output(script, canvas->script_path);
}

/* --- running gnuplot --- */

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

static int draw_picture(const char *script, size_t bytes, FILE *out, struct hwi_error *error)
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

int hwi_gnuplot_draw(enum hwi_plot_form form, const char *script, size_t bytes, FILE *out, struct hwi_error *error)
{
  if (!hwi_script_is_whole(script, bytes))
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory for the charts");
  if (form != HWI_PLOT_SCRIPT)
    return draw_picture(script, bytes, out, error);
  fwrite(script, 1, bytes, out);
  return HW_OK;
}
