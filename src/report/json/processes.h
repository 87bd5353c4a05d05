/* processes.h - the process images of a run as a member of a JSON object: who began whom, and what each one's share is */
#ifndef HWI_REPORT_JSON_PROCESSES_H
#define HWI_REPORT_JSON_PROCESSES_H

#include "report/json/json.h"
#include "report/report.h"

struct hwi_json_process_list {
  uint32_t most;       /* the largest ones */
  size_t command_most; /* character cells of a command; SIZE_MAX: all of it */
  bool is_of_counted;  /* of those that the profile counts */
};

/* "processes": [...] into the object begun last, and where that is not all, "processes_left_out". */
void hwi_json_processes(struct hwi_json *json, const struct hwi_profile *profile,
                        const struct hwi_json_process_list *wanted);

#endif
