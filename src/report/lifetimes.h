/* lifetimes.h - lifetimes of a whole run, and lifetimes as members of a JSON object */
#ifndef HWI_REPORT_LIFETIMES_H
#define HWI_REPORT_LIFETIMES_H

#include "report/json/json.h"
#include "report/report.h"

extern const char *const hwi_lifetime_keys[HWI_LIFETIMES]; /* in JSON */

/* Sums up the lifetimes of a profile's stacks. */
void hwi_lifetimes_of_run(const struct hwi_profile *profile, uint64_t lifetimes[HWI_LIFETIMES]);

/* Writes "lifetimes": {...} into the object begun last. */
void hwi_json_lifetimes(struct hwi_json *json, const uint64_t lifetimes[HWI_LIFETIMES]);

#endif
