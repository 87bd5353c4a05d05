/* selection.h - which stacks a report is about, and in what order */
#ifndef HWI_REPORT_SELECTION_SELECTION_H
#define HWI_REPORT_SELECTION_SELECTION_H

#include "report/selection/figures.h"
#include "report/selection/narrowing.h"

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

/* Selects the stacks that the report's options and `filter` keep, and ranks them. Returns 0 or a negative status.
 * Release `selection` even after a failure. */
int hwi_selection_init(struct hwi_selection *selection, const struct hwi_report *report,
                       const struct hwi_stack_filter *filter /* NULL: all */, struct hwi_error *error);
void hwi_selection_release(struct hwi_selection *selection);

/* For outputs that have no place for remarks: adds a line for each rule that matched nothing, and one if nothing is
 * left. */
void hwi_selection_remark(struct hwi_line *remarks, const struct hwi_selection *selection);

/* Return the amounts that the filter keeps, by the index of each size or thread in the profile, or NULL if there is no
 * memory. The caller frees the array. */
struct hwi_amount *hwi_amounts_by_size(const struct hwi_profile *profile, const struct hwi_narrowing *filter);
struct hwi_amount *hwi_amounts_by_thread(const struct hwi_profile *profile, const struct hwi_narrowing *filter);
/* The same by path of scopes; [0] is what was allocated in no scope. */
struct hwi_amount *hwi_amounts_by_scope(const struct hwi_profile *profile, const struct hwi_narrowing *filter);

/* Block sizes by classes: a class has the sizes up to a power of two and above the previous power, see
 * hwi_size_class. */
struct hwi_size_classes {
  struct hwi_amount items[HWI_SIZE_CLASSES]; /* of the whole run */
};

void hwi_size_classes_of(struct hwi_size_classes *classes, const struct hwi_profile *profile);

/* The smallest and the largest size that a class can have. */
uint64_t hwi_size_class_least(unsigned class);
uint64_t hwi_size_class_most(unsigned class);

#endif
