/* budget.h - a rule that a run must keep: METRIC[(FILTER,...)]=LIMIT
 *
 * metric     the figure that is limited, as in a report.
 * filter     KIND=PATTERN narrows the figure to stacks with a frame in a function, file or module; to threads; to block
 *            sizes; to a part of the run; or, for durations, to called functions. Of several filters of one kind, one
 *            must match; of several kinds, each must match.
 * limit      a figure, or a change against a baseline: +5%, +1MB, -100.
 */
#ifndef HWI_COMPARE_BUDGET_H
#define HWI_COMPARE_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "report/selection/figures.h"

enum hwi_metric {
  HWI_METRIC_PEAK,           /* bytes at the run's peak (with filters: their part of these) */
  HWI_METRIC_OWN_PEAK,       /* the filtered blocks' own peak in bytes */
  HWI_METRIC_LIVE,           /* bytes at the end */
  HWI_METRIC_LIVE_BLOCKS,    /* blocks at the end */
  HWI_METRIC_UNFREED,        /* bytes at the end, without the runtime's own blocks and suppressed ones */
  HWI_METRIC_UNFREED_BLOCKS, /* blocks, the same */
  HWI_METRIC_CALLS,          /* allocations */
  HWI_METRIC_BYTES,          /* total bytes allocated */
  HWI_METRIC_TEMPORARY,      /* blocks freed before the same thread's next allocation */
  HWI_METRIC_FAILED,         /* calls that returned NULL */
  HWI_METRIC_FORBIDDEN,      /* allocations and frees in forbidden zones */
  HWI_METRIC_LOST,           /* events that could not be recorded */
  HWI_METRIC_DURATION,       /* one of hwi_duration_figures, in nanoseconds */
};

enum hwi_unit { HWI_UNIT_COUNT, HWI_UNIT_BYTES, HWI_UNIT_NS };

enum hwi_filter_kind {
  HWI_FILTER_FUNC,
  HWI_FILTER_FILE,
  HWI_FILTER_MODULE,
  HWI_FILTER_THREAD,
  HWI_FILTER_SCOPE,
  HWI_FILTER_SIZE,
  HWI_FILTER_FROM,
  HWI_FILTER_TO,
  HWI_FILTER_ENTRY,
  HWI_FILTER_KINDS,
};

extern const char *const hwi_filter_names[HWI_FILTER_KINDS];

struct hwi_filter {
  enum hwi_filter_kind kind;
  const char *pattern;        /* ended by NUL */
  uint64_t smallest, largest; /* of HWI_FILTER_SIZE */
};

enum hwi_limit_kind { HWI_LIMIT_FIGURE, HWI_LIMIT_CHANGE, HWI_LIMIT_PERCENT };

struct hwi_limit {
  enum hwi_limit_kind kind;
  uint64_t figure; /* of FIGURE, and of CHANGE without its sign */
  bool less;       /* whether the change is a decrease */
  double percent;  /* signed */
};

enum { HWI_FILTERS_MAX = 16 };

struct hwi_budget {
  const char *text; /* the rule as it was given */
  char *copy;       /* split into the patterns */
  enum hwi_metric metric;
  const struct hwi_figure *duration; /* of HWI_METRIC_DURATION */
  struct hwi_filter filters[HWI_FILTERS_MAX];
  size_t filter_count;
  struct hwi_limit limit;
};

/* A list of rules; `texts` owns the text of a file. */
struct hwi_budgets {
  struct hwi_budget *items;
  size_t count, room;
  char *file_text;
};

/* `text` is borrowed. */
int hwi_budgets_add(struct hwi_budgets *budgets, const char *text, struct hwi_error *error);

/* Adds the rules of a file, one per line; blank lines and lines that begin with '#' are ignored. May be called once. */
int hwi_budgets_read(struct hwi_budgets *budgets, const char *path, struct hwi_error *error);
void hwi_budgets_release(struct hwi_budgets *budgets);

bool hwi_budget_has(const struct hwi_budget *budget, enum hwi_filter_kind kind);

/* Returns which paths of scopes the rule is about, by path; 0 is outside of all. The caller frees it. Returns NULL if
 * there is no memory. */
bool *hwi_budget_choose_scopes(const struct hwi_budget *budget, const struct hwi_profile *profile);
enum hwi_unit hwi_metric_unit(enum hwi_metric metric); /* COUNT: of calls or blocks */
bool hwi_metric_is_unfreed(enum hwi_metric metric);    /* without the runtime's own blocks and known leaks */
uint64_t hwi_metric_of_stack(enum hwi_metric metric, const struct hwi_stack *stack); /* if a profile has it by stack */
double hwi_metric_variance(enum hwi_metric metric, const struct hwi_stack *stack);   /* of the same; 0: it is exact */
const char *hwi_budget_figure_name(const struct hwi_budget *budget);
bool hwi_budget_is_of_longest(const struct hwi_budget *budget); /* whether it limits the longest duration */

#endif
