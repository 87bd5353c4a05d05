/* foreign.h - converts recordings of other tools into packed traces
 *
 * Data that a recording does not have (stacks, threads, times) is not invented: the trace has a note about the missing
 * data.
 */
#ifndef HWI_EXPORT_IMPORT_FOREIGN_H
#define HWI_EXPORT_IMPORT_FOREIGN_H

#include <stdio.h>

#include "base/error.h"
#include "export/synthetic.h"

struct hwi_foreign {
  const char *tool;    /* "heaptrack", "heaphook" */
  const char *missing; /* the data that its recordings lack */
  uint64_t event_count, packed_bytes;
  uint64_t bad_lines, first_bad_line; /* invalid lines that were left out */
  const char *files_folder;           /* folder for files next to the trace; NULL: none are written */
};

enum { HWI_FOREIGN_LINE_BYTES = 1 << 16 }; /* no line of any of these formats is longer */

/* A tool's format. */
struct hwi_foreign_format {
  const char *tool, *missing;
  bool is_timed;        /* it has durations of calls */
  bool takes_cut_lines; /* also takes the beginning of lines that are too long */
  bool (*recognizes)(const char *first_line, const char *kinds /* the first bytes of a few lines after it */);
  void *(*create)(void); /* makes the reader of the lines; NULL: no memory */
  void (*destroy)(void *reader);
  /* Takes a line without its line end. Returns false if the line is invalid. */
  bool (*take)(void *reader, struct hwi_synthetic *trace, char *line);
  int (*finish)(void *reader, const char *files_folder); /* writes the files next to the trace; NULL: there are none */
};

extern const struct hwi_foreign_format hwi_foreign_heaptrack, hwi_foreign_interpreted, hwi_foreign_heaphook,
    hwi_foreign_heaphook_old;

/* Returns the format of the file at `path`, or NULL if it is unknown or not a readable regular file. */
const struct hwi_foreign_format *hwi_foreign_format_of(const char *path);

/* Makes a trace in `fd`, an empty file, from the data of `file`, and fills *result. Returns 0 or a negative status. */
int hwi_foreign_write(const struct hwi_foreign_format *format, FILE *file, int fd, struct hwi_foreign *result);

/* Makes a trace at `to` from the recording at `from`. An earlier trace at `to` is replaced; any other file is
 * refused. */
int hwi_foreign_import(const struct hwi_foreign_format *format, const char *from, const char *to,
                       struct hwi_foreign *result, struct hwi_error *error);

/* --- for both formats of heaptrack, raw and interpreted --- */

/* Reads the next hexadecimal number of a line and moves *at after it. */
bool hwi_heaptrack_number(char **at, uint64_t *value);

/* Takes lines that are the same in both: the command (X), moments (c), RSS (R) in pages (I), and ignored ones. Returns
 * false if the line is invalid. */
bool hwi_heaptrack_take_common(uint64_t *page_bytes, struct hwi_synthetic *trace, char *line);

/* Returns whether strings come before the lines that a raw recording begins with. `kinds` are the first bytes of the
 * lines after the first one. */
bool hwi_heaptrack_is_interpreted(const char *first_line, const char *kinds);

#endif
