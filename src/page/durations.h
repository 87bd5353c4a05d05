/* durations.h - durations of calls in each slice of time, as JSON */
#ifndef HWI_PAGE_DURATIONS_H
#define HWI_PAGE_DURATIONS_H

#include "page/packed.h"
#include "profile/counters/timed_calls.h"
#include "report/content/durations.h"

/* Writes "durations_series" into the current object, for the entry points that were found, in their order. */
void hwi_json_page_durations(struct hwi_json *json, const struct hwi_sliced_durations *durations,
                             const struct hwi_report_durations *found);

#endif
