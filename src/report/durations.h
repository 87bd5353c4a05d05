/* durations.h - how long the calls took that a report is about
 *
 * Narrowed, a call belongs to the thread that made it and to the stack that made it; a free, whose stack is not recorded, to the
 * stack that allocated its block. A call is in an interval where its event is.
 */
#ifndef HWI_REPORT_DURATIONS_H
#define HWI_REPORT_DURATIONS_H

#include "profile/counters/durations.h"
#include "report/narrowing.h"

enum { HWI_SLOW_CALLS_TEXT = 10, HWI_SLOW_CALLS_JSON = 100, HWI_SLOW_CALLS_MAX = 100000 };

/* What a table tells of a tally, in its order. */
enum hwi_duration_figure {
  HWI_DURATION_MEAN = 0,
  HWI_DURATION_MEDIAN,
  HWI_DURATION_99,
  HWI_DURATION_99_9,
  HWI_DURATION_99_99,
  HWI_DURATION_MAX,
  HWI_DURATION_FIGURES
};
extern const char *const hwi_duration_titles[HWI_DURATION_FIGURES];

struct hwi_report_durations {
  struct hwi_durations durations; /* sorted */
  struct hwi_duration_tally all;
  uint8_t
      entries[HW_ENTRY_COUNT]; /* enum hw_entry of those with calls, timed or not; what took most time in all first */
  uint32_t entry_count;
  struct hwi_durations_along along; /* where it was wanted */
  uint64_t clock_cost_ns;           /* at most, of the images */
  bool is_gathered;
};

/* An image of the profile was recorded with the durations of its calls. */
bool hwi_profile_is_timed(const struct hwi_profile *profile);

/* By hand: for what reads the recording's events anyway. `slow_max` of the slowest calls are kept. Between both, calls are added by
 * hwi_durations_add to `durations`. To be released, even after a failure. */
void hwi_report_durations_begin(struct hwi_report_durations *found, const struct hwi_profile *profile, size_t slow_max);
bool hwi_report_durations_end(struct hwi_report_durations *found); /* false: no memory */

struct hwi_durations_wanted {
  uint64_t slow_calls; /* to keep, where the options' `top` leaves it open */
  bool along;          /* how many calls took how long when, too */
};

/* Replays the recording. As many of the slowest calls are kept as the options' `top` says. To be released, even after a failure. */
int hwi_report_durations_init(struct hwi_report_durations *found, const struct hwi_report *report,
                              const struct hwi_narrowing *narrowing, struct hwi_durations_wanted wanted,
                              struct hwi_error *error);
void hwi_report_durations_release(struct hwi_report_durations *found);

/* All 0 where no call was timed. */
void hwi_duration_figures(const struct hwi_duration_tally *tally, uint64_t ns[HWI_DURATION_FIGURES]);

#endif
