/* processes.h - the process images of a run as a member of a JSON object: who began whom, and what each one's share is */
#ifndef HWI_REPORT_JSON_PROCESSES_H
#define HWI_REPORT_JSON_PROCESSES_H

#include "report/json/json.h"
#include "report/report.h"

/* "processes": [...] into the object begun last: the `most` largest ones, and where that is not all, "processes_left_out". */
void hwi_json_processes(struct hwi_json *json, const struct hwi_profile *profile, uint32_t most);

#endif
