/* answer.h - where a command's answer goes: stdout, or a file that appears whole or not at all
 *
 * A file is written beside its place under a name of its own (NAME.XXXXXX) and renamed at the end; when anything goes wrong,
 * or Ctrl-C or SIGTERM ends the program, it is removed, and what stood there before stays. Devices and pipes are written to
 * directly; "-" is stdout. A recording is not replaced.
 */
#ifndef HWI_CLI_ANSWER_H
#define HWI_CLI_ANSWER_H

#include <limits.h>
#include <stdio.h>

#include "cli/command.h"

/* The forms of report and diff. Text and JSON are the first ones of every command. */
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

/* What a command writes: what --format calls each format, ended by NULL, and how files of it end. */
struct hwi_formats {
  const char *const *names;
  const char *const *suffixes;
};

extern const char *const hwi_format_names[], *const hwi_page_format_names[];
extern const struct hwi_formats hwi_plain_formats; /* text and JSON */
extern const struct hwi_formats hwi_page_formats;  /* all of enum hwi_format */

/* The one whose suffix `path` has, the longest of several; HWI_FORMAT_UNKNOWN: none. */
int hwi_format_of(const struct hwi_formats *formats, const char *path);

/* There is none: the exit status, worded on stderr. `advice`: what else to do, behind the formats that there are; may be "". */
int hwi_format_refuse(const struct hwi_formats *formats, const char *path, const char *advice);

/* Part of a command's values. */
struct hwi_answer {
  const char *path; /* NULL or "-": stdout */
  int format;       /* of `formats`; UNKNOWN: as the suffix of `path` says, on stdout text */
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
   .help = "write to FILE; its suffix names the format: " suffixes},                                                   \
  {.name = "format",                                                                                                   \
   HWI_VALUE(CHOICE, field.format),                                                                                    \
   .choices = names,                                                                                                   \
   .help = "how to print it (default: text, or what the suffix of -o says)"},                                          \
  {.name = "json",                                                                                                     \
   HWI_VALUE(SET, field.format), .preset = HWI_FORMAT_JSON,                                                            \
   .help = "short for --format json"}

#define HWI_ANSWER_OPTIONS(field) HWI_ANSWER_OPTIONS_OF(field, hwi_format_names, ".txt or .json")
#define HWI_PAGE_ANSWER_OPTIONS(field)                                                                                 \
  HWI_ANSWER_OPTIONS_OF(field, hwi_page_format_names, ".txt, .json, .html (a page\n"                                   \
                        "to look at, in one file) or .page.json (that page's data); .pdf, .svg or .png for\n"          \
                        "charts (by gnuplot), .gp for the script that draws them")
/* clang-format on */

/* Whether hwi_answer_check finds one. */
bool hwi_answer_has_format(const struct hwi_answer *answer);

/* Whether what was settled is a plot, or the script of one. */
bool hwi_answer_is_plot(const struct hwi_answer *answer);

/* Settles `format`. 0, or the exit status of hwi_format_refuse. */
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
