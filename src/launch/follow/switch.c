/* switch.c - pauses and resumes the recording of a trace while its program runs
 *
 * In the trace a pause must not be shorter than it was: its begin is noted with an earlier time, and its end with a
 * later one.
 */
#include "launch/follow/switch.h"

#include <stddef.h>
#include <unistd.h>

static int store(int fd, uint32_t control)
{
  off_t at = offsetof(struct hw_trace_header, control);
  return pwrite(fd, &control, sizeof control, at) == (ssize_t)sizeof control ? 0 : HW_ERR_IO;
}

enum hw_control hwi_switch_get(const struct hwi_tool_log *log)
{
  uint32_t control = HW_CONTROL_RECORD;
  off_t at = offsetof(struct hw_trace_header, control);
  bool is_read = pread(log->fd, &control, sizeof control, at) == (ssize_t)sizeof control;
  return is_read && control == HW_CONTROL_PAUSE ? HW_CONTROL_PAUSE : HW_CONTROL_RECORD;
}

int hwi_switch_set(struct hwi_tool_log *log, enum hw_control control, bool *changed)
{
  bool ignored;
  changed = changed ? changed : &ignored;
  *changed = false;
  if (hwi_switch_get(log) == control)
    return 0;
  int status;
  if (control == HW_CONTROL_PAUSE) {
    status = hwi_tool_log_append(log, HW_TOOL_PAUSED, hwi_monotonic_ns(), NULL, 0);
    if (status == 0)
      status = store(log->fd, control);
  } else {
    status = store(log->fd, control);
    if (status == 0)
      status = hwi_tool_log_append(log, HW_TOOL_RESUMED, hwi_monotonic_ns(), NULL, 0);
  }
  *changed = status == 0;
  return status;
}
