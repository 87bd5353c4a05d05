/* measure.h - the figure that a rule is about, in one run
 *
 * Totals, and sums of stacks chosen by their frames, are taken from the profile. If a filter selects threads, sizes or
 * a part of the run, the events are read a second time and counted (rule_counter.h).
 */
#ifndef HWI_COMPARE_MEASURE_H
#define HWI_COMPARE_MEASURE_H

#include "compare/frame_filter.h"
#include "report/selection/leaks.h"

struct hwi_measure {
  uint64_t figure;
  uint64_t *by_stack;      /* the parts of the figure; NULL if it has no parts */
  uint64_t doubtful;       /* amount that might also belong to the figure: code whose names are missing */
  uint64_t from_ns, to_ns; /* UINT64_MAX: the end */
  bool is_estimate;        /* of a sample; */
  double variance;         /* ... 0: unknown */
  const char *doubt;       /* why not all is known; NULL if all is */
  bool at_least;           /* ... the true figure is not smaller */
  struct hwi_frame_filter filter;
};

/* A run, and its events. */
struct hwi_measured_run {
  const struct hwi_profile *profile;
  struct hwi_filtered_run filtered;
  struct hwi_replayer replayer; /* its `run` is NULL: it cannot be replayed */
  uint32_t rest;                /* the stack that has all amounts without a known stack; 0: none */
  bool is_baseline;             /* then only rules about changes need its figures */
};

/* Measures all rules of one run. `measures` has an item for each rule. Returns 0 or a negative status. Release each
 * item, even after a failure. */
int hwi_measure_all(struct hwi_measure *measures, const struct hwi_budgets *budgets, struct hwi_measured_run *run,
                    struct hwi_error *error);
void hwi_measure_release(struct hwi_measure *measure);

#endif
