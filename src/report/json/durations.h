/* durations.h - how long calls took, as members of the report's JSON object */
#ifndef HWI_REPORT_JSON_DURATIONS_H
#define HWI_REPORT_JSON_DURATIONS_H

#include "report/content/durations.h"
#include "report/json/frames.h"
#include "report/report.h"
#include "report/selection/selection.h"

/* Replays the recording and writes the members. Returns 0 or a negative status. */
int hwi_json_durations(struct hwi_json *json, const struct hwi_report *report, const struct hwi_narrowing *narrowing,
                       struct hwi_json_frames *frames, struct hwi_error *error);

/* Writes the members of a tally's object. */
void hwi_json_duration_tally(struct hwi_json *json, const struct hwi_duration_tally *tally);

/* Writes the durations in `found`; `stacks` writes the stacks of the slowest calls. */
void hwi_json_durations_found(struct hwi_json *json, const struct hwi_profile *profile,
                              const struct hwi_report_durations *found, const struct hwi_json_stacks *stacks);

/* Writes only `durations` and `durations_of_all`, their histograms with eight ranges for each power of two. */
void hwi_json_durations_in_brief(struct hwi_json *json, const struct hwi_report_durations *found);

#endif
