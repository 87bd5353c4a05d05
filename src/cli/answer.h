/* answer.h - where a command's answer goes: stdout, or a file that appears whole or not at all
 *
 * A file is written beside its place under a name of its own (NAME.XXXXXX) and renamed at the end; when anything goes
 * wrong, or Ctrl-C or SIGTERM ends the program, it is removed, and what stood there before stays. Devices and pipes are written to directly; "-" is
 * stdout. A recording is not replaced.
 */
#ifndef HWI_CLI_ANSWER_H
#define HWI_CLI_ANSWER_H

#include <limits.h>
#include <stdio.h>

#include "cli/command.h"

enum hwi_format { HWI_FORMAT_TEXT = 0, HWI_FORMAT_JSON = 1, HWI_FORMAT_UNKNOWN = -1 };

/* Part of a command's values. */
struct hwi_answer {
  const char *path; /* NULL or "-": stdout */
  int format;       /* enum hwi_format; UNKNOWN: as the suffix of `path` says, on stdout text */
};

#define HWI_ANSWER_DEFAULTS      \
  {                              \
    .format = HWI_FORMAT_UNKNOWN \
  }

extern const char *const hwi_format_names[]; /* the words of --format */

/* Rows of the command's table of options, for `struct hwi_answer field` in its `struct values`. */
/* clang-format off */
#define HWI_ANSWER_OPTIONS(field)                                                                                      \
  {.name = "output",                                                                                                   \
   .letter = 'o',                                                                                                      \
   .kind = HWI_OPTION_TEXT,                                                                                            \
   .off = offsetof(struct values, field.path),                                                                         \
   .value = "FILE",                                                                                                    \
   .help = "write to FILE; its suffix names the format: .txt or .json"},                                               \
  {.name = "format",                                                                                                   \
   .kind = HWI_OPTION_CHOICE,                                                                                          \
   .off = offsetof(struct values, field.format),                                                                       \
   .choices = hwi_format_names,                                                                                        \
   .help = "how to print it (default: text, or what the suffix of -o says)"},                                          \
  {.name = "json",                                                                                                     \
   .kind = HWI_OPTION_SET,                                                                                             \
   .preset = HWI_FORMAT_JSON,                                                                                          \
   .off = offsetof(struct values, field.format),                                                                       \
   .help = "short for --format json"}
/* clang-format on */

/* Whether hwi_answer_check finds one. */
bool hwi_answer_has_format(const struct hwi_answer *answer);

/* Settles `format`. 0, or the exit status where no format is known by the suffix, which is worded on stderr. */
int hwi_answer_check(struct hwi_answer *answer);

struct hwi_answer_file {
  FILE *out;
  const char *path;    /* as the user named it; NULL: stdout */
  char *target, *part; /* what `part` becomes; NULL: `out` is written directly */
};

/* Both return 0 or an exit status, worded on stderr. What was opened is closed, with the status of the work so far; a file
 * appears only if that is 0 and all could be written. Returns the status, or that of a failure to write. */
int hwi_answer_open(struct hwi_answer_file *to, const char *path);
int hwi_answer_close(struct hwi_answer_file *to, int status);

/* Flushes; false where not all that was ever written to `out` arrived, with the reason in errno. */
bool hwi_is_written(FILE *out);

#endif
