/* control.h - switches the recording of a run, or names a moment in it, while it goes on */
#ifndef HWI_LAUNCH_CONTROL_H
#define HWI_LAUNCH_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum hwi_control_action { HWI_CONTROL_ON, HWI_CONTROL_OFF, HWI_CONTROL_MARK };

struct hwi_control_request {
  const char *target; /* a process number, or the path of a trace */
  enum hwi_control_action action;
  const char *text; /* of a mark */
  bool only_this;   /* leave the other processes of the run alone */
};

struct hwi_controlled {
  uint32_t process_count; /* that the request reached */
  uint32_t changed_count; /* that were not as asked for already; of a mark, the traces that got it */
};

/* HW_ERR_USAGE: the target is not being recorded (any more); HW_ERR_IO and others as *error says. */
int hwi_control(const struct hwi_control_request *request, struct hwi_controlled *controlled, struct hwi_error *error);

#endif
