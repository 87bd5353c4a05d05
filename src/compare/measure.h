/* measure.h - the figure that a rule is about, in one run
 *
 * What the profile sums up already is taken from it: totals, and stacks chosen by their frames. Narrowed to threads, sizes or
 * a part of the run it is counted in a second replay (gauge.h), in which every event is looked at.
 */
#ifndef HWI_COMPARE_MEASURE_H
#define HWI_COMPARE_MEASURE_H

#include "compare/frame_filter.h"
#include "report/input/suppressions.h"

struct hwi_measure {
  uint64_t figure;
  uint64_t *by_stack;      /* the parts of the figure; NULL: it has none */
  uint64_t doubtful;       /* more, that might belong to it: code whose names are missing */
  uint64_t from_ns, to_ns; /* UINT64_MAX: the end */
  const char *doubt;       /* why not all is known; NULL: it is */
  bool at_least;           /* ... and the figure can only be too small */
  struct hwi_frame_filter filter;
};

/* A run, and its events. */
struct hwi_measured_run {
  const struct hwi_profile *profile;
  struct hwi_filtered_run filtered;
  struct hwi_replayer replayer; /* its `run` is NULL: it cannot be replayed */
  uint32_t rest;                /* the stack of what is known of no stack; 0: none */
  bool is_baseline;             /* only rules about changes ask for its figures */
};

/* Measures all rules of one run. `measures`: as many as there are rules; each to be released, even after a failure. */
int hwi_measure_all(struct hwi_measure *measures, const struct hwi_budgets *budgets, struct hwi_measured_run *run,
                    struct hwi_error *error);
void hwi_measure_release(struct hwi_measure *measure);

#endif
