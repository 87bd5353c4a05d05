/* compare.h - what changed between two runs
 *
 * side       one of the two runs: OLD or NEW.
 * item       what a side is made of: its stacks, or groups of them, threads or sizes.
 * row        what is the same in both runs (see identity.h), with what it is accountable for in each. Items of one side that
 *            cannot be told apart across runs (a recursion of another depth, two threads of one name) are one row.
 * similar    a row whose stacks are not quite the same: see stack_rows.c.
 */
#ifndef HWI_COMPARE_COMPARE_H
#define HWI_COMPARE_COMPARE_H

#include "compare/identity.h"
#include "report/groups.h"
#include "report/runtime_blocks.h"

enum { HWI_OLD = 0, HWI_NEW = 1, HWI_SIDES = 2 };

struct hwi_compare_options {
  struct hwi_suppressions *suppressions; /* with `leaks`: known ones, left out of both sides; NULL: none */
  struct hwi_report_options
      report; /* `top` and `min_calls` are about rows, a row's calls being those of the larger side */
  const struct hwi_replayer *replayers; /* [HWI_SIDES], for `report.durations`; else NULL */
  bool has_threshold, percent;          /* changes of the cost up to the threshold are left out ... */
  double threshold;                     /* ... in bytes or calls, or in percent of what OLD had in all */
};

struct hwi_compare_side {
  struct hwi_report report;
  struct hwi_named_frames frames;
  struct hwi_selection selection;
  struct hwi_runtime_blocks runtime; /* with `leaks` */
  struct hwi_groups groups;          /* grouped by function, file, line or module */
};

enum { HWI_NO_ITEM = UINT32_MAX };

struct hwi_row {
  uint32_t items
      [HWI_SIDES]; /* the largest of the row's: a stack's number, or an index into groups, threads, sizes or entries;
                                HWI_NO_ITEM: the side has none */
  uint32_t item_counts[HWI_SIDES];
  struct hwi_amount amounts[HWI_SIDES]; /* of groups: their own (self) */
  struct hwi_amount totals[HWI_SIDES];  /* groups only */
  bool similar;
};

struct hwi_comparison {
  const struct hwi_compare_options *options;
  enum hwi_cost cost;
  struct hwi_compare_side sides[HWI_SIDES];
  struct hwi_identities identities;
  struct hwi_row *rows; /* what changed, the largest change first; then what did not */
  size_t row_count, row_room;
  size_t changed_count;                /* of rows */
  size_t few_calls_count, below_count; /* changed, but left out: by min_calls, and by the threshold */
  struct hwi_amount all[HWI_SIDES];    /* the runs', as far as the report's filter keeps them */
};

/* Compares two runs; how long calls took has no rows here (see duration_rows.h). What is given is borrowed. To be released, even after a failure. */
int hwi_compare(struct hwi_comparison *comparison, const struct hwi_profile *const profiles[HWI_SIDES],
                const struct hwi_names names[HWI_SIDES], const struct hwi_compare_options *options,
                struct hwi_error *error);
void hwi_comparison_release(struct hwi_comparison *comparison);

bool hwi_comparison_is_narrowed(const struct hwi_comparison *comparison);

/* NEW's figure less OLD's. */
int64_t hwi_change(const struct hwi_amount amounts[HWI_SIDES], enum hwi_cost cost);

/* Whether the cost of the whole run, or of any row, grew by more than the threshold. */
bool hwi_comparison_grew(const struct hwi_comparison *comparison);

/* Both return 0 or a negative status (no memory). */
int hwi_compare_text(struct hwi_comparison *comparison, const struct hwi_style *style, struct hwi_error *error);
int hwi_compare_json(struct hwi_comparison *comparison, FILE *out, struct hwi_error *error);

#endif
