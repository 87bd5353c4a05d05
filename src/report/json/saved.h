/* saved.h - a report that was saved as JSON, read back: what a run is compared with where its recording is not kept
 *
 * It has the run's figures and each stack's, with the names that were known when it was written. Of threads there are the
 * names alone; what single sizes, threads or moments had of a stack is not in it, and events are not either.
 * Every byte counts as hostile, as those of a trace do.
 */
#ifndef HWI_REPORT_JSON_SAVED_H
#define HWI_REPORT_JSON_SAVED_H

#include <stdbool.h>

#include "report/report.h"

struct hwi_saved_tables; /* private */

struct hwi_saved {
  struct hwi_profile profile; /* no cells, sizes or points in time */
  struct hwi_names names;     /* of its frames alone */
  uint64_t stacks_left_out;   /* by --top */
  uint32_t rest;              /* the number of a stack without frames: what the others leave of the run's figures */
  struct hwi_saved_tables *tables;
};

/* Whether the file looks like one, and not like a recording. */
bool hwi_saved_is(const char *path);

/* Reads one. HW_ERR_USAGE where it is another document, of a part of its run, or too large. On failure *saved is NULL. */
int hwi_saved_create(struct hwi_saved **saved, const char *path, struct hwi_error *error);
void hwi_saved_destroy(struct hwi_saved *saved); /* NULL is fine */

#endif
