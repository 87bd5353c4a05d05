/* import_foreign.h - recordings of other tools become packed traces
 *
 * What a recording does not have (stacks, threads, times) is not made up: the trace has a note that says what is missing.
 */
#ifndef HWI_EXPORT_IMPORT_FOREIGN_H
#define HWI_EXPORT_IMPORT_FOREIGN_H

#include <stdio.h>

#include "base/error.h"
#include "export/synthetic.h"

struct hwi_foreign {
  const char *tool;    /* "heaptrack", "heaphook" */
  const char *missing; /* what its recordings do not have */
  uint64_t event_count, packed_bytes;
  uint64_t bad_lines, first_bad_line; /* that make no sense and were left out */
  const char *files_folder;           /* for what is kept beside the trace; NULL: it is not kept */
};

enum { HWI_FOREIGN_LINE_BYTES = 1 << 16 }; /* no line of any of these formats is longer */

/* A tool's format. */
struct hwi_foreign_format {
  const char *tool, *missing;
  bool is_timed;        /* it tells how long calls took */
  bool takes_cut_lines; /* those that are too long, too, without their ends */
  bool (*recognizes)(const char *first_line, const char *kinds /* the first bytes of a few lines behind it */);
  void *(*create)(void); /* what the lines are read with; NULL: no memory */
  void (*destroy)(void *reader);
  /* Takes a line without its end. False: it makes no sense. */
  bool (*take)(void *reader, struct hwi_synthetic *trace, char *line);
  int (*finish)(void *reader, const char *files_folder); /* writes what is kept beside the trace; NULL: nothing is */
};

extern const struct hwi_foreign_format hwi_foreign_heaptrack, hwi_foreign_interpreted, hwi_foreign_heaphook,
    hwi_foreign_heaphook_old;

/* The format of the file at `path`; NULL: none that is known, or no regular file that can be read. */
const struct hwi_foreign_format *hwi_foreign_format_of(const char *path);

/* Makes a trace in `fd`, an empty file, from what `file` reads, and counts in *result. 0 or a negative status. */
int hwi_foreign_write(const struct hwi_foreign_format *format, FILE *file, int fd, struct hwi_foreign *result);

/* Makes a trace at `to` from the recording at `from`. An earlier trace at `to` is replaced, any other file is refused. */
int hwi_foreign_import(const struct hwi_foreign_format *format, const char *from, const char *to,
                       struct hwi_foreign *result, struct hwi_error *error);

#endif
