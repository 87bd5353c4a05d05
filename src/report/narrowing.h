/* narrowing.h - what a report is narrowed to: --only and --ignore KIND=PATTERN
 *
 * rule       one --only or --ignore (or --thread P, which is --only thread=P).
 * kind       what its pattern is held against: the functions, source files or modules of a stack's frames (any of them,
 *            inlined ones too), the thread that allocated, or the block's size.
 * cell       a thread's blocks of one size from one stack: what is kept or not. Of several --only of one kind any must hold, of
 *            different kinds all; what an --ignore matches is not kept.
 */
#ifndef HWI_REPORT_NARROWING_H
#define HWI_REPORT_NARROWING_H

#include "report/input/name_pattern.h"
#include "report/report.h"

enum hwi_narrowing_kind {
  HWI_NARROW_FUNCTION = HWI_NAME_FUNCTION,
  HWI_NARROW_FILE = HWI_NAME_FILE,
  HWI_NARROW_MODULE = HWI_NAME_MODULE,
  HWI_NARROW_THREAD = HWI_NAME_THREAD,
  HWI_NARROW_SIZE = HWI_NAME_KINDS,
  HWI_NARROW_KINDS,
};

struct hwi_narrowing_rule {
  struct hwi_name_pattern name; /* its kind is an enum hwi_narrowing_kind, its text the option's */
  bool ignores;
  uint64_t from, to; /* of a size, in bytes, both included */
};

struct hwi_narrowing {
  const struct hwi_profile *profile;
  struct hwi_narrowing_rule *rules;
  uint32_t rule_count;
  uint8_t asked; /* bits of the kinds of which there is an --only */
  uint8_t used;  /* ... or an --ignore */
  struct hwi_name_matches names;
  uint8_t *stacks; /* by number: what holds of them, see narrowing.c; NULL where there is no rule */
};

bool hwi_report_is_narrowed(const struct hwi_report_options *options); /* there is a rule */

bool hwi_report_splits_stacks(const struct hwi_report_options *options); /* ... of threads or sizes */

/* Whether `options` hold rules that can be understood; else a negative status, worded. */
int hwi_narrowing_check(const struct hwi_report_options *options, struct hwi_error *error);

/* Holds the rules of the report's options against its profile. */
int hwi_narrowing_init(struct hwi_narrowing *filter, const struct hwi_report *report, struct hwi_error *error);
void hwi_narrowing_release(struct hwi_narrowing *filter);

bool hwi_narrowing_keeps(const struct hwi_narrowing *filter, uint32_t thread, uint32_t stack, uint64_t size_bytes);
bool hwi_narrowing_keeps_cell(const struct hwi_narrowing *filter, const struct hwi_profile_cell *cell);
bool hwi_narrowing_keeps_stack(const struct hwi_narrowing *filter,
                               uint32_t stack); /* where rules of frames are all there are */
bool hwi_narrowing_keeps_thread(const struct hwi_narrowing *filter,
                                uint32_t thread); /* as far as rules of threads go */

/* "func=main": the rule as it was given. */
void hwi_narrowing_rule_add(struct hwi_line *line, const struct hwi_narrowing_rule *rule);

/* Of a rule that nothing `where` ("this recording") matched: adds that, and the nearest that would. */
void hwi_narrowing_explain(struct hwi_line *line, const struct hwi_narrowing_rule *rule, const char *where);

/* Whether of a stack (a thread, a size) a part may be kept, so that what does not add up is not known of it. */
bool hwi_narrowing_splits_stacks(const struct hwi_narrowing *filter);
bool hwi_narrowing_splits_threads(const struct hwi_narrowing *filter);
bool hwi_narrowing_splits_sizes(const struct hwi_narrowing *filter);

extern const char *const hwi_narrowing_kind_names[]; /* by enum hwi_narrowing_kind */

#endif
