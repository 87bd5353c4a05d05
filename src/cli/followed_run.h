/* followed_run.h - a run that goes on, as an analyst of it needs it */
#ifndef HWI_CLI_FOLLOWED_RUN_H
#define HWI_CLI_FOLLOWED_RUN_H

#include "cli/read_recording.h"
#include "live/analyst.h"

/* It must not move: its parts refer to each other. */
struct hwi_followed_run {
  struct hwi_live_run run;
  struct hwi_reading reading;
  struct hwi_reading_source source;
  struct hwi_symbols *symbols;
};

/* Without a name, and with the history that pages and terminals show: the caller may change both in `run`. `path` must outlive it.
 * Returns 0 or a negative status. */
int hwi_followed_run_init(struct hwi_followed_run *followed, const struct hwi_reading *reading, const char *path,
                          struct hwi_error *error);
void hwi_followed_run_release(struct hwi_followed_run *followed);

/* In a process that the recording at `name` has for viewers to come: see live/resident.h. */
void hwi_followed_run_be_resident(const char *name);

#endif
