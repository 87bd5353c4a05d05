/* variables.h - the environment variables that the launcher sets for the command */
#ifndef HWI_LAUNCH_START_VARIABLES_H
#define HWI_LAUNCH_START_VARIABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "launch/start/launch.h"
#include "trace/format.h"

/* NAME=VALUE texts, ended by NULL. The array and each text are malloc'd. */
struct hwi_variables {
  char **texts;
  size_t count, capacity;
  bool failed; /* no memory */
};

/* Adds the user's own variables. If `library` is not NULL, also adds those that the recorder needs, and LD_PRELOAD with
 * `library` before the libraries that are preloaded anyway. */
void hwi_variables_init(struct hwi_variables *variables, const struct hwi_launch_options *options, const char *library,
                        const char *name, const uint8_t run_id[HW_ID_BYTES]);
void hwi_variables_release(struct hwi_variables *variables);

#endif
