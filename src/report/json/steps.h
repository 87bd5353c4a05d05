/* steps.h - how a stack's blocks grow (realloc) and are freed together, as members of its JSON object */
#ifndef HWI_REPORT_JSON_STEPS_H
#define HWI_REPORT_JSON_STEPS_H

#include "report/json/json.h"
#include "report/report.h"

/* Writes "resizes": {...} and "together": {...}, if there are any, into the object begun last. */
void hwi_json_steps(struct hwi_json *json, const struct hwi_profile *profile, uint32_t stack);

#endif
