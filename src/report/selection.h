/* selection.h - which stacks a report is about, and in what order
 *
 * amount     the figures of a stack or of a group of stacks: those that the report's filter keeps.
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
  uint64_t peak_usable; /* 0 if usable sizes are not recorded */
};

struct hwi_selection {
  enum hwi_cost cost;
  struct hwi_amount *amounts;    /* by stack number */
  uint32_t *stacks, stack_count; /* the largest cost first */
  struct hwi_narrowing narrowing;
  struct hwi_amount all; /* everything that the filters keep (without filters, the run): shares are relative to it */
  struct hwi_amount selected;  /* the sum over `stacks` */
  struct hwi_amount few_calls; /* of stacks with fewer calls than asked for */
  uint32_t few_calls_count;
};

/* Called for each stack that has an amount. If it returns false, the stack is left out. */
struct hwi_stack_filter {
  bool (*keep)(void *context, uint32_t stack, const struct hwi_amount *amount);
  void *context;
};

int hwi_selection_init(struct hwi_selection *selection, const struct hwi_report *report,
                       const struct hwi_stack_filter *filter /* NULL: all */, struct hwi_error *error);
void hwi_selection_release(struct hwi_selection *selection);

/* For outputs that have no place for remarks: adds a line for each rule that matched nothing, and one if nothing is
 * left. */
void hwi_selection_remark(struct hwi_line *remarks, const struct hwi_selection *selection);

/* The figure that a cost ranks by: bytes if hwi_cost_is_bytes, else calls. */
uint64_t hwi_amount_cost(const struct hwi_amount *amount, enum hwi_cost cost);
bool hwi_amount_is_nothing(const struct hwi_amount *amount); /* neither calls nor live blocks, now or at the peak */
void hwi_amount_add(struct hwi_amount *to, const struct hwi_amount *amount);
void hwi_amount_subtract(struct hwi_amount *from, const struct hwi_amount *amount);
struct hwi_amount hwi_amount_of_run(const struct hwi_totals *totals);

/* The cost of the options, with the default resolved. For an interval, that is what was allocated in it: its peak
 * consists mostly of blocks from before. */
enum hwi_cost hwi_report_cost(const struct hwi_report_options *options, const struct hwi_profile *profile);
bool hwi_cost_is_bytes(enum hwi_cost cost); /* else calls */
struct hwi_number hwi_cost_text(uint64_t value, enum hwi_cost cost);

struct hwi_amount hwi_amount_of_stack(const struct hwi_stack *stack);
struct hwi_amount hwi_amount_of_cell(const struct hwi_profile *profile, const struct hwi_profile_cell *cell);

/* The amounts that the filter keeps, by the index of each size or thread in the profile. The caller frees the array.
 * Return NULL if there is no memory. */
struct hwi_amount *hwi_amounts_by_size(const struct hwi_profile *profile, const struct hwi_narrowing *filter);
struct hwi_amount *hwi_amounts_by_thread(const struct hwi_profile *profile, const struct hwi_narrowing *filter);

#endif
