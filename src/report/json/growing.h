/* growing.h - the stacks whose live bytes grow, as a member of a JSON object */
#ifndef HWI_REPORT_JSON_GROWING_H
#define HWI_REPORT_JSON_GROWING_H

#include "report/json/frames.h"

/* Writes "growing": [...] into the object begun last. */
void hwi_json_growing(struct hwi_json *json, const struct hwi_profile *profile, const struct hwi_json_stacks *stacks);

#endif
