/* compare.h - the changes between two runs
 *
 * side       one of the two runs: OLD or NEW.
 * item       a stack of a side, or a group of stacks, a thread or a size.
 * row        an item that is the same in both runs (see identity.h), with its amounts in each. Items of one side that
 *            cannot be distinguished across runs (a recursion of another depth, two threads of one name) are one row.
 * similar    a row whose stacks are not exactly the same: see similar_rows.c.
 */
#ifndef HWI_COMPARE_COMPARE_H
#define HWI_COMPARE_COMPARE_H

#include "compare/identity.h"
#include "report/content/groups.h"
#include "report/content/scopes.h"
#include "report/selection/leaks.h"

enum { HWI_OLD = 0, HWI_NEW = 1, HWI_SIDES = 2 };

struct hwi_compare_options {
  struct hwi_suppressions *suppressions; /* with `leaks`: known leaks, left out of both sides; NULL: none */
  struct hwi_report_options
      report; /* `top` and `min_calls` apply to rows; a row's calls are those of the larger side */
  const struct hwi_replayer *replayers; /* [HWI_SIDES], for `report.durations`; else NULL */
  bool has_threshold, percent;          /* changes of the cost up to the threshold are left out ... */
  double threshold;                     /* ... in bytes or calls, or in percent of OLD's total */
};

struct hwi_compare_side {
  struct hwi_report report;
  struct hwi_named_frames frames;
  struct hwi_selection selection;
  struct hwi_runtime_blocks runtime; /* with `leaks` */
  struct hwi_groups groups;          /* grouped by function, file, line or module */
  struct hwi_scope_row *scopes;      /* by path; NULL: rows are not scopes */
};

enum { HWI_NO_ITEM = UINT32_MAX };

struct hwi_diff_row {
  uint32_t items
      [HWI_SIDES]; /* the row's largest item: the number of a stack or of a path of scopes, or an index into groups, threads, sizes
                    * or entries; HWI_NO_ITEM: the side has none */
  uint32_t item_counts[HWI_SIDES];
  struct hwi_amount amounts[HWI_SIDES]; /* for groups and scopes: their own (self) */
  struct hwi_amount totals[HWI_SIDES];  /* groups and scopes only */
  bool similar;
};

struct hwi_comparison {
  const struct hwi_compare_options *options;
  enum hwi_cost cost;
  struct hwi_compare_side sides[HWI_SIDES];
  struct hwi_identities identities;
  struct hwi_diff_row *rows; /* changed rows, the largest change first; then unchanged ones */
  size_t row_count, row_room;
  size_t changed_count;                /* of rows */
  size_t few_calls_count, below_count; /* changed, but left out: by min_calls, and by the threshold */
  struct hwi_amount all[HWI_SIDES];    /* of the whole runs, as far as the report's filter keeps them */
};

/* Compares two runs. Durations of calls have no rows here (see duration_rows.h). The arguments are borrowed. Returns 0
 * or a negative status. Release `comparison` even after a failure. */
int hwi_compare(struct hwi_comparison *comparison, const struct hwi_profile *const profiles[HWI_SIDES],
                const struct hwi_names names[HWI_SIDES], const struct hwi_compare_options *options,
                struct hwi_error *error);
void hwi_comparison_release(struct hwi_comparison *comparison);

/* Returns whether the report's options have a filter. */
bool hwi_comparison_is_narrowed(const struct hwi_comparison *comparison);

/* Returns NEW's figure minus OLD's. */
int64_t hwi_change(const struct hwi_amount amounts[HWI_SIDES], enum hwi_cost cost);

/* Returns whether the cost of the whole run, or of any row, grew by more than the threshold. */
bool hwi_comparison_grew(const struct hwi_comparison *comparison);

/* Both return 0, or a negative status if there is no memory. */
int hwi_compare_text(struct hwi_comparison *comparison, const struct hwi_style *style, struct hwi_error *error);
int hwi_compare_json(struct hwi_comparison *comparison, FILE *out, struct hwi_error *error);

#endif
