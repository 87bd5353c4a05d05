/* processes.h - the process images of a run as a member of a JSON object: their parents and their figures */
#ifndef HWI_REPORT_JSON_PROCESSES_H
#define HWI_REPORT_JSON_PROCESSES_H

#include "report/json/json.h"
#include "report/report.h"

struct hwi_json_process_list {
  uint32_t most;       /* how many: the largest ones */
  size_t command_most; /* character cells of a command; SIZE_MAX: no limit */
  bool is_of_counted;  /* only those that the profile counts */
};

/* Writes "processes": [...] into the object begun last and, if some are left out, "processes_left_out". */
void hwi_json_processes(struct hwi_json *json, const struct hwi_profile *profile,
                        const struct hwi_json_process_list *wanted);

#endif
