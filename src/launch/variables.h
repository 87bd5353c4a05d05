/* variables.h - what the launcher adds to the environment of the command */
#ifndef HWI_LAUNCH_VARIABLES_H
#define HWI_LAUNCH_VARIABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "launch/launch.h"
#include "trace/format.h"

/* NAME=VALUE texts, ended by NULL; malloc'd, each and all. */
struct hwi_variables {
  char **texts;
  size_t count, capacity;
  bool failed; /* no memory */
};

/* The user's own, then, where `library` is not NULL, what makes the recorder work: preloaded ahead of what is preloaded anyway. */
void hwi_variables_init(struct hwi_variables *variables, const struct hwi_launch_options *options, const char *library,
                        const char *name, const uint8_t run_id[HW_ID_BYTES]);
void hwi_variables_release(struct hwi_variables *variables);

#endif
