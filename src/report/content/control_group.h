/* control_group.h - the memory of the control group in which the processes of a report ran */
#ifndef HWI_REPORT_CONTENT_CONTROL_GROUP_H
#define HWI_REPORT_CONTENT_CONTROL_GROUP_H

#include "profile/profile.h"

struct hwi_control_group {
  uint64_t limit_bytes; /* 0: none */
  uint64_t peak_bytes;  /* the highest sample of all its processes; 0: nothing is known */
  uint64_t oom_kills;   /* processes that the kernel killed because memory ran out, while the run went on */
};

/* Takes the group in which most memory was in use, and if possible one with a limit: a process may move to another. */
struct hwi_control_group hwi_control_group_of(const struct hwi_profile *profile);

/* Returns whether a text shows it: more than a tenth of its limit was used, or the kernel killed a process of it. */
bool hwi_control_group_is_shown(const struct hwi_control_group *group);

/* Returns whether the kernel ended the process because memory ran out, as far as that can be known: its control group had
 * such an end, and SIGKILL ended the process. */
bool hwi_was_out_of_memory(const struct hwi_trace_info *info);

#endif
