/* figures.h - the figures of a report, each described once for all outputs
 *
 * figure     a value of a struct, with its names. JSON, tables, texts, comparisons and rules walk these lists: a new
 *            figure is a new item.
 * amount     the figures of a stack or of a group of stacks: those that the report's filter keeps.
 */
#ifndef HWI_REPORT_SELECTION_FIGURES_H
#define HWI_REPORT_SELECTION_FIGURES_H

#include "report/report.h"
#include "report/words/number.h"

struct hwi_figure {
  const char *key;     /* in JSON, CSV and SQLite */
  const char *title;   /* of its column in a text; NULL: it has none */
  const char *metric;  /* in a rule of heapwright check; NULL: it has no rule */
  bool is_signed;      /* the value is an int64_t */
  bool not_in_tables;  /* CSV and SQLite do not have it */
  bool not_in_changes; /* the changes in a comparison's JSON do not have it */
  uint64_t (*value)(const struct hwi_figure *figure, const void *of); /* NULL: the uint64_t at offset `off` */
  double (*ratio)(const void *of); /* the same with decimals, for JSON; NULL: it is a whole number */
  union {
    size_t off;
    uint32_t part; /* of a quantile: see hwi_duration_quantile */
  };
};

static inline uint64_t hwi_figure_value(const struct hwi_figure *figure, const void *of)
{
  return figure->value ? figure->value(figure, of) : *(const uint64_t *)((const char *)of + figure->off);
}

struct hwi_amount {
  uint64_t calls, bytes, temporary_calls;
  uint64_t live_blocks, live_bytes;
  uint64_t peak_blocks, peak_bytes;
  uint64_t peak_usable; /* 0 if usable sizes are not recorded */
  struct hwi_variance variance;
};

/* Of struct hwi_totals, hwi_amount and hwi_time_point. The last item of a list has no key. */
extern const struct hwi_figure hwi_totals_figures[], hwi_amount_figures[], hwi_time_figures[];
/* The errors of an amount's figures, if it is an estimate: half of the 95 % interval. In the same order. */
extern const struct hwi_figure hwi_amount_errors[];
extern const struct hwi_figure hwi_totals_errors[]; /* of hwi_amount_of_totals */
extern const struct hwi_figure hwi_heap_figures[];  /* of struct hwi_heap */
/* Of struct hwi_stack: those that are known only for all of a stack's blocks. */
extern const struct hwi_figure hwi_whole_stack_figures[], hwi_whole_stack_errors[];

/* The words of --cost and --by, in the order of enum hwi_cost and enum hwi_by; ended by NULL. */
extern const char *const hwi_cost_names[], *const hwi_by_names[];

/* Returns the figure that a cost ranks by: bytes if hwi_cost_is_bytes, else calls. */
uint64_t hwi_amount_cost(const struct hwi_amount *amount, enum hwi_cost cost);
bool hwi_amount_is_nothing(const struct hwi_amount *amount); /* neither calls nor live blocks, now or at the peak */
void hwi_amount_add(struct hwi_amount *to, const struct hwi_amount *amount);
void hwi_amount_subtract(struct hwi_amount *from, const struct hwi_amount *amount);

/* Returns whether the amount is an estimate that has an error. */
bool hwi_amount_is_estimate(const struct hwi_amount *amount);

/* Returns the amount of all stacks. In a sample it is the sum of theirs, so that shares add up to all of it, although all
 * calls may be known. */
struct hwi_amount hwi_amount_of_run(const struct hwi_profile *profile);
/* The same, but the figures of totals that are exact have no error. */
struct hwi_amount hwi_amount_of_totals(const struct hwi_profile *profile);
uint64_t hwi_amount_cost_error(const struct hwi_amount *amount, enum hwi_cost cost);

/* Returns the cost of the options, with the default resolved. For an interval, that is what was allocated in it: its
 * peak consists mostly of blocks from before. */
enum hwi_cost hwi_report_cost(const struct hwi_report_options *options, const struct hwi_profile *profile);
bool hwi_cost_is_bytes(enum hwi_cost cost); /* else calls */
struct hwi_number hwi_cost_text(uint64_t value, enum hwi_cost cost);

/* Return the amount of one stack, or of one cell. */
struct hwi_amount hwi_amount_of_stack(const struct hwi_stack *stack);
struct hwi_amount hwi_amount_of_cell(const struct hwi_profile *profile, const struct hwi_profile_cell *cell);

extern const char *const hwi_lifetime_keys[HWI_LIFETIMES]; /* in JSON */

/* Sums up the lifetimes of a profile's stacks. */
void hwi_lifetimes_of_run(const struct hwi_profile *profile, uint64_t lifetimes[HWI_LIFETIMES]);

#endif
