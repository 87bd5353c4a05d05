/* steps.h - how a stack's blocks grow and die together, as members of its JSON object */
#ifndef HWI_REPORT_JSON_STEPS_H
#define HWI_REPORT_JSON_STEPS_H

#include "report/json/json.h"
#include "report/report.h"

/* What is known of a stack; NULL: nothing of this kind. */
const struct hwi_stack_resizes *hwi_resizes_of(const struct hwi_profile *profile, uint32_t stack);
const struct hwi_together *hwi_together_of(const struct hwi_profile *profile, uint32_t stack);

/* "resizes": {...} and "together": {...}, where there are any, into the object begun last. */
void hwi_json_steps(struct hwi_json *json, const struct hwi_profile *profile, uint32_t stack);

#endif
