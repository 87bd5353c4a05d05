/* processes.h - the process images of a run as a list for programs: who began whom, and what each one's share is */
#ifndef HWI_REPORT_PROCESSES_H
#define HWI_REPORT_PROCESSES_H

#include "report/json.h"
#include "report/report.h"

/* "processes": [...] into the object begun last. */
void hwi_json_processes(struct hwi_json *json, const struct hwi_profile *profile);

#endif
