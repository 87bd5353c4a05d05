/* switch.h - turns the recording of a trace off and on while its program runs */
#ifndef HWI_LAUNCH_SWITCH_H
#define HWI_LAUNCH_SWITCH_H

#include <stdbool.h>

#include "launch/tool_log.h"

/* Sets the control word of the raw trace behind `log` and notes when. *changed (may be NULL): it was another before. HW_ERR_IO,
 * HW_ERR_BUSY or HW_ERR_LIMIT where it could not be done; then nothing changed. */
int hwi_switch_set(struct hwi_tool_log *log, enum hw_control control, bool *changed);

/* What the control word says now. */
enum hw_control hwi_switch_get(const struct hwi_tool_log *log);

#endif
