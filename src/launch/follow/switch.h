/* switch.h - pauses and resumes the recording of a trace while its program runs */
#ifndef HWI_LAUNCH_FOLLOW_SWITCH_H
#define HWI_LAUNCH_FOLLOW_SWITCH_H

#include <stdbool.h>

#include "launch/tool_log.h"

/* Sets the control word of the raw trace that `log` belongs to, and notes the time. *changed (may be NULL) is set to
 * whether the value was different before. Returns 0, or HW_ERR_IO, HW_ERR_BUSY or HW_ERR_LIMIT; on failure nothing is
 * changed. */
int hwi_switch_set(struct hwi_tool_log *log, enum hw_control control, bool *changed);

/* Returns the current control word. */
enum hw_control hwi_switch_get(const struct hwi_tool_log *log);

#endif
