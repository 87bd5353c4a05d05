/* durations.h - how long the calls took, for a report or a part of its run
 *
 * For --only and --ignore, a call belongs to the thread and the stack that made it. The stack of a free is not
 * recorded: a free belongs to the stack that allocated its block. A call is in an interval if its event is.
 */
#ifndef HWI_REPORT_CONTENT_DURATIONS_H
#define HWI_REPORT_CONTENT_DURATIONS_H

#include "profile/counters/durations.h"
#include "report/selection/figures.h"
#include "report/selection/narrowing.h"

enum { HWI_SLOW_CALLS_TEXT = 10, HWI_SLOW_CALLS_JSON = 100, HWI_SLOW_CALLS_MAX = 100000 };

/* The figures of a struct hwi_duration_tally: its calls, and how long they took (0 if none was timed). The last item
 * has no key. */
extern const struct hwi_figure hwi_duration_call_figures[], hwi_duration_figures[];

struct hwi_report_durations {
  struct hwi_durations durations; /* sorted */
  struct hwi_duration_tally all;
  uint8_t entries[HW_ENTRY_COUNT]; /* enum hw_entry of those with calls, timed or not; the largest total time first */
  uint32_t entry_count;
  struct hwi_durations_along along; /* if it was wanted */
  uint64_t clock_cost_ns;           /* the largest of the images */
  bool is_gathered;
};

/* Whether an image of the profile was recorded with the durations of its calls. What the program's own heaps do has
 * none. */
bool hwi_profile_is_timed(const struct hwi_profile *profile);

/* For callers that read the recording's events anyway: between begin and end they add the calls to `durations` with
 * hwi_durations_add. `slow_max` of the slowest calls are kept. The caller releases it, also after a failure. */
void hwi_report_durations_begin(struct hwi_report_durations *found, const struct hwi_profile *profile, size_t slow_max);
bool hwi_report_durations_end(struct hwi_report_durations *found); /* false: no memory */

struct hwi_durations_wanted {
  uint64_t slow_calls; /* how many to keep, unless the options have a `top` */
  bool along;          /* also count the calls by their duration along time */
};

/* Replays the recording. The options' `top` says how many of the slowest calls are kept. Returns 0 or a negative
 * status. The caller releases it, also after a failure. */
int hwi_report_durations_init(struct hwi_report_durations *found, const struct hwi_report *report,
                              const struct hwi_narrowing *narrowing, struct hwi_durations_wanted wanted,
                              struct hwi_error *error);
void hwi_report_durations_release(struct hwi_report_durations *found);

#endif
