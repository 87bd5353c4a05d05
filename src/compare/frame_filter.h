/* frame_filter.h - which stacks a rule is about: patterns against the names of their frames */
#ifndef HWI_COMPARE_FRAME_FILTER_H
#define HWI_COMPARE_FRAME_FILTER_H

#include "compare/budget.h"
#include "compare/missing_names.h"
#include "report/selection/leaks.h"
#include "report/selection/name_pattern.h"

struct hwi_frame_filter {
  bool *chosen;   /* by stack */
  bool *doubtful; /* ... not chosen, but might be, since it has frames whose names are missing */
  struct hwi_name_pattern patterns[HWI_FILTERS_MAX]; /* by filter of the rule; set for filters of names */
  uint32_t missing_module;                           /* one of the modules without names */
};

/* The run to filter. */
struct hwi_filtered_run {
  struct hwi_named_frames *frames;
  struct hwi_missing_names missing;
  const struct hwi_suppressions *suppressions; /* NULL: none */
};

/* Release `filter` even after a failure. */
int hwi_frame_filter_init(struct hwi_frame_filter *filter, const struct hwi_budget *budget,
                          const struct hwi_filtered_run *run, struct hwi_error *error);
void hwi_frame_filter_release(struct hwi_frame_filter *filter);

#endif
