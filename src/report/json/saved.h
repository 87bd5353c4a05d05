/* saved.h - reads a report that was saved as JSON: a run can be compared with it when the recording is no longer there
 *
 * It has the figures of the run and of each stack, with the names that were known when it was written. Of threads, it
 * has only the names. It has no figures of a stack by size, thread or moment, and no events. The file is not trusted,
 * as a trace is not.
 */
#ifndef HWI_REPORT_JSON_SAVED_H
#define HWI_REPORT_JSON_SAVED_H

#include <stdbool.h>

#include "report/report.h"

struct hwi_saved_tables; /* private */

struct hwi_saved {
  struct hwi_profile profile; /* no cells, sizes or points in time */
  struct hwi_names names;     /* of its frames only */
  uint64_t stacks_left_out;   /* by --top */
  uint32_t rest; /* the number of a stack without frames: the run's figures minus those of the other stacks */
  struct hwi_saved_tables *tables;
};

/* Whether the file looks like a saved report, and not like a recording. */
bool hwi_saved_is(const char *path);

/* Reads a saved report of malloc or, if `heap` is not NULL, with this option --heap. Returns 0 or a negative status:
 * HW_ERR_USAGE if it is another document, of another heap, of a part of its run, or too large. On failure *saved is
 * NULL. */
int hwi_saved_create(struct hwi_saved **saved, const char *path, const char *heap, struct hwi_error *error);
void hwi_saved_destroy(struct hwi_saved *saved); /* NULL is fine */

#endif
