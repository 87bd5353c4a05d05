/* answer.c - where a command writes its answer */
#include "cli/answer.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/suffix.h"
#include "launch/ending_signals.h"
#include "report/words/line.h"
#include "trace/format.h"

const char *const hwi_format_names[] = {"text", "json", NULL};
static const char *const suffixes[] = {".txt", ".json"};
const struct hwi_formats hwi_plain_formats = {hwi_format_names, suffixes};

const char *const hwi_page_format_names[] = {"text", "json", "pdf", "svg", "png", "gp", "html", "page", NULL};
static const char *const page_suffixes[] = {".txt", ".json", ".pdf", ".svg", ".png", ".gp", ".html", ".page.json"};
const struct hwi_formats hwi_page_formats = {hwi_page_format_names, page_suffixes};

int hwi_format_of(const struct hwi_formats *formats, const char *path)
{
  size_t bytes = strlen(path), longest = 0;
  int found = HWI_FORMAT_UNKNOWN;
  for (int i = 0; formats->names[i]; i++) {
    size_t suffix_bytes = strlen(formats->suffixes[i]);
    if (suffix_bytes > longest && hwi_has_suffix(path, bytes, formats->suffixes[i]))
      found = i, longest = suffix_bytes;
  }
  return found;
}

int hwi_format_refuse(const struct hwi_formats *formats, const char *path, const char *advice)
{
  struct hwi_line known = {0};
  for (int i = 0; formats->names[i]; i++)
    hwi_line_printf(&known, "%s%s", i == 0 ? "" : formats->names[i + 1] ? ", " : " and ", formats->suffixes[i]);
  int status = hwi_fail(HWI_EXIT_TROUBLE, "-o %s: its suffix names no format; the known ones are %s%s", path,
                        hwi_line_text(&known), advice);
  hwi_line_release(&known);
  return status;
}

static bool is_stdout(const char *path)
{
  return !path || strcmp(path, "-") == 0;
}

bool hwi_answer_has_format(const struct hwi_answer *answer)
{
  return answer->format != HWI_FORMAT_UNKNOWN || is_stdout(answer->path) ||
         hwi_format_of(answer->formats, answer->path) != HWI_FORMAT_UNKNOWN;
}

bool hwi_answer_is_plot(const struct hwi_answer *answer)
{
  return answer->format >= HWI_FORMAT_PDF && answer->format <= HWI_FORMAT_SCRIPT;
}

int hwi_answer_check(struct hwi_answer *answer)
{
  if (answer->format == HWI_FORMAT_UNKNOWN)
    answer->format = is_stdout(answer->path) ? HWI_FORMAT_TEXT : hwi_format_of(answer->formats, answer->path);
  return answer->format != HWI_FORMAT_UNKNOWN ? 0
                                              : hwi_format_refuse(answer->formats, answer->path, ", or say --format");
}

static int cannot_write(const char *path)
{
  return hwi_fail(HWI_EXIT_TROUBLE, "cannot write %s: %m", path);
}

/* Returns whether a file that exists has no name that could be given to another one: /dev/stdout may be a file that was
 * removed while the shell had it open. */
static bool is_nameless(const char *path, const struct stat *file)
{
  struct stat named;
  char *name = realpath(path, NULL);
  bool is_missing = !name && errno == ENOENT;
  bool is_other = name && stat(name, &named) == 0 && (named.st_ino != file->st_ino || named.st_dev != file->st_dev);
  free(name);
  return is_missing || is_other;
}

/* A pipe, a device or a file without a name is written to directly; other files are replaced. */
static bool is_special(const char *path)
{
  struct stat status;
  if (stat(path, &status) < 0 || S_ISDIR(status.st_mode))
    return false;
  return !S_ISREG(status.st_mode) || is_nameless(path, &status);
}

/* Returns the path that the rename must replace: `path`, or the target if it is a symbolic link. The caller frees
 * it. */
static char *resolve(const char *path)
{
  char *target = realpath(path, NULL);
  return target || errno != ENOENT ? target : strdup(path);
}

/* Returns the mode of an existing file, or the mode that open(2) gives a new file. */
static mode_t mode_of(const char *path)
{
  enum { MODE_NEW = 0666, MODE_BITS = 0777 };
  struct stat status;
  if (stat(path, &status) == 0)
    return status.st_mode & MODE_BITS;
  mode_t mask = umask(0);
  umask(mask);
  return MODE_NEW & ~mask;
}

/* The answer must not overwrite a recording. */
static bool is_recording(const char *path)
{
  char magic[HW_TRACE_MAGIC_BYTES] = "";
  FILE *file = fopen(path, "re");
  if (!file)
    return false;
  size_t got = fread(magic, 1, sizeof magic, file);
  fclose(file);
  return got == sizeof magic && memcmp(magic, HW_TRACE_MAGIC, sizeof magic) == 0;
}

static int open_part(struct hwi_answer_file *to)
{
  struct stat status;
  to->target = resolve(to->path);
  if (!to->target)
    return cannot_write(to->path);
  if (stat(to->target, &status) == 0 && S_ISDIR(status.st_mode)) {
    errno = EISDIR;
    return cannot_write(to->path);
  }
  if (is_recording(to->target))
    return hwi_fail(HWI_EXIT_TROUBLE, "-o %s: this is a recording, which is not overwritten; name another file",
                    to->path);
  if (asprintf(&to->part, "%s.XXXXXX", to->target) < 0) {
    to->part = NULL;
    return cannot_write(to->path);
  }
  int descriptor = hwi_unfinished_make(to->part);
  to->out = descriptor >= 0 && fchmod(descriptor, mode_of(to->target)) == 0 ? fdopen(descriptor, "w") : NULL;
  if (to->out)
    return 0;
  int status_of_failure = cannot_write(to->path);
  if (descriptor >= 0) {
    close(descriptor);
    unlink(to->part);
    hwi_unfinished_end();
  }
  return status_of_failure;
}

static void release(struct hwi_answer_file *to)
{
  free(to->target);
  free(to->part);
  *to = (struct hwi_answer_file){0};
}

int hwi_answer_open(struct hwi_answer_file *to, const char *path)
{
  *to = (struct hwi_answer_file){.out = stdout, .path = is_stdout(path) ? NULL : path};
  if (is_stdout(path))
    return 0;
  signal(SIGXFSZ, SIG_IGN); /* exceeding the limit of file sizes becomes an error that can be reported */
  int status;
  if (is_special(path)) {
    to->out = fopen(path, "we");
    status = to->out ? 0 : cannot_write(path);
  } else {
    status = open_part(to);
  }
  if (status != 0)
    release(to);
  return status;
}

/* The errno of an earlier failed write is lost. Another write sets it again. */
static void fail_again(FILE *out)
{
  errno = EIO;
  clearerr(out);
  if (fputc('\n', out) != EOF)
    fflush(out);
}

bool hwi_is_written(FILE *out)
{
  if (!ferror(out))
    return fflush(out) == 0;
  fail_again(out);
  return false;
}

/* Closes `out`. Returns false, with the reason in errno, if not everything was written. */
static bool close_written(FILE *out)
{
  bool written = hwi_is_written(out);
  int reason = errno; /* of the write, not of the close */
  bool closed = fclose(out) == 0;
  if (!written)
    errno = reason;
  return written && closed;
}

int hwi_answer_close(struct hwi_answer_file *to, int status)
{
  if (!to->path)
    return status; /* stdout is checked once, when the program ends */
  if (!close_written(to->out) && status == 0)
    status = cannot_write(to->path);
  if (to->part && status == 0 && rename(to->part, to->target) != 0)
    status = cannot_write(to->path);
  if (to->part && status != 0)
    unlink(to->part);
  hwi_unfinished_end();
  release(to);
  return status;
}
