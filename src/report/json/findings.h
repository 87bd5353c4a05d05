/* findings.h - what stands out in a profile, and the stacks whose live bytes grow, as members of a JSON object */
#ifndef HWI_REPORT_JSON_FINDINGS_H
#define HWI_REPORT_JSON_FINDINGS_H

#include "report/json/frames.h"

/* Writes "findings": [...] into the object begun last. */
void hwi_json_findings(struct hwi_json *json, const struct hwi_report *report, const struct hwi_json_stacks *stacks);

/* Writes "growing": [...] into the object begun last. */
void hwi_json_growing(struct hwi_json *json, const struct hwi_profile *profile, const struct hwi_json_stacks *stacks);

#endif
