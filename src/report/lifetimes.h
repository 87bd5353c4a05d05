/* lifetimes.h - what the steps of lifetimes are called */
#ifndef HWI_REPORT_LIFETIMES_H
#define HWI_REPORT_LIFETIMES_H

#include "report/json.h"
#include "report/report.h"

/* Sums the lifetimes of a profile's stacks up. */
void hwi_lifetimes_of_run(const struct hwi_profile *profile, uint64_t lifetimes[HWI_LIFETIMES]);

/* "lifetimes": {...} into the object begun last. */
void hwi_json_lifetimes(struct hwi_json *json, const uint64_t lifetimes[HWI_LIFETIMES]);

#endif
