/* control.h - pauses or resumes the recording of a run, or adds a mark to it, while the run goes on */
#ifndef HWI_LAUNCH_CONTROL_H
#define HWI_LAUNCH_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum { HWI_CONTROL_TEXT_BYTES = 1024 }; /* of a mark, at most */

enum hwi_control_action { HWI_CONTROL_ON, HWI_CONTROL_OFF, HWI_CONTROL_MARK };

struct hwi_control_request {
  const char *target; /* a process ID, or the path of a trace */
  enum hwi_control_action action;
  const char *text; /* of a mark */
  bool only_this;   /* leave the other processes of the run alone */
};

struct hwi_controlled {
  uint32_t process_count; /* processes that the request reached */
  uint32_t changed_count; /* processes whose state the request changed; for a mark, the traces that it was written to */
};

/* Finds the trace of a target: *path is malloc'd. Returns the same as the next function. */
int hwi_control_find(const char *target, char **path, struct hwi_error *error);

/* Finds the recording that began last of those of this user that are being written. The same. */
int hwi_control_newest(char **path, struct hwi_error *error);

/* Calls `take` with each recording of this user that is being written: its path and start, once for each of its processes. */
void hwi_control_each(void (*take)(void *context, const char *path, uint64_t start_ns), void *context);

/* Returns 0; HW_ERR_USAGE if the target is not being recorded, or not any more; HW_ERR_IO or another error, as *error
 * says. */
int hwi_control(const struct hwi_control_request *request, struct hwi_controlled *controlled, struct hwi_error *error);

#endif
