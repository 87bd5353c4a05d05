/* selection.h - which stacks a report is about, and in what order
 *
 * amount     what a stack, or a group of stacks, is accountable for: as far as the report's filter keeps it.
 */
#ifndef HWI_REPORT_SELECTION_H
#define HWI_REPORT_SELECTION_H

#include "report/narrowing.h"
#include "report/report.h"
#include "report/text/number.h"

struct hwi_amount {
  uint64_t calls, bytes, temporary_calls;
  uint64_t live_blocks, live_bytes;
  uint64_t peak_blocks, peak_bytes;
  uint64_t peak_usable; /* 0 where usable sizes are not recorded */
};

struct hwi_selection {
  enum hwi_cost cost;
  struct hwi_amount *amounts;    /* by stack number */
  uint32_t *stacks, stack_count; /* the largest cost first */
  struct hwi_narrowing narrowing;
  struct hwi_amount all;       /* that the filters keep, of the run where there is none: what shares are shares of */
  struct hwi_amount selected;  /* the sum over `stacks` */
  struct hwi_amount few_calls; /* of stacks with fewer calls than asked for */
  uint32_t few_calls_count;
};

/* Asked for each stack that has something, with what it has; false: it is left out. */
struct hwi_stack_filter {
  bool (*keep)(void *context, uint32_t stack, const struct hwi_amount *amount);
  void *context;
};

int hwi_selection_init(struct hwi_selection *selection, const struct hwi_report *report,
                       const struct hwi_stack_filter *filter /* NULL: all */, struct hwi_error *error);
void hwi_selection_release(struct hwi_selection *selection);

/* For what has no place to say it: adds a line for each rule that matched nothing, and one where nothing is left. */
void hwi_selection_remark(struct hwi_line *remarks, const struct hwi_selection *selection);

/* What a cost ranks by: bytes, or calls where hwi_cost_is_bytes says so. */
uint64_t hwi_amount_cost(const struct hwi_amount *amount, enum hwi_cost cost);
bool hwi_amount_is_nothing(const struct hwi_amount *amount); /* neither calls nor live blocks, now or at the peak */
void hwi_amount_add(struct hwi_amount *to, const struct hwi_amount *amount);
void hwi_amount_subtract(struct hwi_amount *from, const struct hwi_amount *amount);
struct hwi_amount hwi_amount_of_run(const struct hwi_totals *totals);

/* With the default replaced: of an interval one wants to know who allocates in it; its peak is mostly of blocks from before. */
enum hwi_cost hwi_report_cost(const struct hwi_report_options *options, const struct hwi_profile *profile);
bool hwi_cost_is_bytes(enum hwi_cost cost); /* else calls */
struct hwi_number hwi_cost_text(uint64_t value, enum hwi_cost cost);

struct hwi_amount hwi_amount_of_stack(const struct hwi_stack *stack);
struct hwi_amount hwi_amount_of_cell(const struct hwi_profile *profile, const struct hwi_profile_cell *cell);

/* What the filter keeps of each size and of each thread, by their indices in the profile. To be freed; NULL: no memory. */
struct hwi_amount *hwi_amounts_by_size(const struct hwi_profile *profile, const struct hwi_narrowing *filter);
struct hwi_amount *hwi_amounts_by_thread(const struct hwi_profile *profile, const struct hwi_narrowing *filter);

#endif
