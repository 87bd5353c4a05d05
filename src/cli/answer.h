/* answer.h - where a command writes its answer: to stdout, or to a file that is either complete or not there
 *
 * A file is written under a temporary name in the same folder (NAME.XXXXXX) and renamed at the end. If anything fails,
 * or Ctrl-C or SIGTERM ends the program, the temporary file is removed and an earlier file stays as it was. Devices and
 * pipes are written to directly; "-" is stdout. A recording is never overwritten.
 */
#ifndef HWI_CLI_ANSWER_H
#define HWI_CLI_ANSWER_H

#include <limits.h>
#include <stdio.h>

#include "cli/command.h"

/* The formats of report and diff. Text and JSON come first for every command. */
enum hwi_format {
  HWI_FORMAT_TEXT = 0,
  HWI_FORMAT_JSON,
  HWI_FORMAT_PDF, /* plots ... */
  HWI_FORMAT_SVG,
  HWI_FORMAT_PNG,
  HWI_FORMAT_SCRIPT, /* ... and the script that draws them */
  HWI_FORMAT_HTML,   /* the page */
  HWI_FORMAT_PAGE,   /* its data alone */
  HWI_FORMAT_UNKNOWN = -1,
};

/* The formats that a command writes: their names for --format, ended by NULL, and the suffix of files in each. */
struct hwi_formats {
  const char *const *names;
  const char *const *suffixes;
};

extern const char *const hwi_format_names[], *const hwi_page_format_names[];
extern const struct hwi_formats hwi_plain_formats; /* text and JSON */
extern const struct hwi_formats hwi_page_formats;  /* all of enum hwi_format */

/* Returns the format whose suffix `path` has (the longest suffix that matches), or HWI_FORMAT_UNKNOWN. */
int hwi_format_of(const struct hwi_formats *formats, const char *path);

/* Reports on stderr that no format has the suffix of `path`, and returns the exit status. `advice` follows the list of
 * known formats and says what else the user can do; it may be "". */
int hwi_format_refuse(const struct hwi_formats *formats, const char *path, const char *advice);

/* Part of a command's values. */
struct hwi_answer {
  const char *path; /* NULL or "-": stdout */
  int format;       /* one of `formats`; UNKNOWN: from the suffix of `path`; text on stdout */
  const struct hwi_formats *formats;
};

/* clang-format off */
#define HWI_ANSWER_DEFAULTS_OF(its_formats) {.format = HWI_FORMAT_UNKNOWN, .formats = (its_formats)}
#define HWI_ANSWER_DEFAULTS HWI_ANSWER_DEFAULTS_OF(&hwi_plain_formats)
#define HWI_PAGE_ANSWER_DEFAULTS HWI_ANSWER_DEFAULTS_OF(&hwi_page_formats)
/* clang-format on */

/* Rows of the command's table of options, for `struct hwi_answer field` in its `struct values`. */
/* clang-format off */
#define HWI_ANSWER_OPTIONS_OF(field, names, suffixes)                                                                  \
  {.name = "output",                                                                                                   \
   .letter = 'o',                                                                                                      \
   HWI_VALUE(TEXT, field.path),                                                                                        \
   .value = "FILE",                                                                                                    \
   .help = "write to FILE; its suffix selects the format: " suffixes},                                                 \
  {.name = "format",                                                                                                   \
   HWI_VALUE(CHOICE, field.format),                                                                                    \
   .choices = names,                                                                                                   \
   .help = "format of the output (default: text, or from the suffix of -o)"},                                          \
  {.name = "json",                                                                                                     \
   HWI_VALUE(SET, field.format), .preset = HWI_FORMAT_JSON,                                                            \
   .help = "short for --format json"}

#define HWI_ANSWER_OPTIONS(field) HWI_ANSWER_OPTIONS_OF(field, hwi_format_names, ".txt or .json")
#define HWI_PAGE_ANSWER_OPTIONS(field)                                                                                 \
  HWI_ANSWER_OPTIONS_OF(field, hwi_page_format_names, ".txt, .json, .html (a page\n"                                   \
                        "to look at, in one file) or .page.json (that page's data); .pdf, .svg or .png for\n"          \
                        "charts (by gnuplot), .gp for the script that draws them")
/* clang-format on */

/* Returns whether hwi_answer_check will find a format. */
bool hwi_answer_has_format(const struct hwi_answer *answer);

/* Returns whether the format is a plot or a plot's script. Call it after hwi_answer_check. */
bool hwi_answer_is_plot(const struct hwi_answer *answer);

/* Determines `format` if it is UNKNOWN. Returns 0, or the exit status of hwi_format_refuse. */
int hwi_answer_check(struct hwi_answer *answer);

struct hwi_answer_file {
  FILE *out;
  const char *path;    /* as the user named it; NULL: stdout */
  char *target, *part; /* `part` is renamed to `target`; NULL: `out` is written directly */
};

/* Both return 0, or an exit status after they have reported the error on stderr. hwi_answer_close must be called after
 * a successful open, with the status of the work so far. The file appears only if that status is 0 and everything could
 * be written. hwi_answer_close returns `status`, or the exit status of a failed write. */
int hwi_answer_open(struct hwi_answer_file *to, const char *path);
int hwi_answer_close(struct hwi_answer_file *to, int status);

/* Flushes `out`. Returns false, with the reason in errno, if any write to `out` has failed. */
bool hwi_is_written(FILE *out);

#endif
