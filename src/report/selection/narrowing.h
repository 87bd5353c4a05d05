/* narrowing.h - narrows a report to a part of its run: --only and --ignore KIND=PATTERN
 *
 * rule       one --only or --ignore (or --thread P, which is --only thread=P).
 * kind       what its pattern is compared with: the functions, source files or modules of a stack's frames (any of
 *            them, also inlined ones), the thread that allocated, the scopes that it was in, or the block's size.
 * cell       a thread's blocks of one size from one stack and path of scopes. A cell is kept as a whole, or not. Of several --only of
 *            one kind at least one must match; every kind that has an --only must match. A cell that an --ignore
 *            matches is not kept.
 */
#ifndef HWI_REPORT_SELECTION_NARROWING_H
#define HWI_REPORT_SELECTION_NARROWING_H

#include "report/report.h"
#include "report/selection/name_pattern.h"

enum hwi_narrowing_kind {
  HWI_NARROW_FUNCTION = HWI_NAME_FUNCTION,
  HWI_NARROW_FILE = HWI_NAME_FILE,
  HWI_NARROW_MODULE = HWI_NAME_MODULE,
  HWI_NARROW_THREAD = HWI_NAME_THREAD,
  HWI_NARROW_SCOPE = HWI_NAME_SCOPE,
  HWI_NARROW_SIZE = HWI_NAME_KINDS,
  HWI_NARROW_KINDS,
};

struct hwi_narrowing_rule {
  struct hwi_name_pattern name; /* its kind is an enum hwi_narrowing_kind, its text is the option's */
  bool ignores;
  uint64_t from, to; /* of a size rule, in bytes, both included */
};

struct hwi_narrowing {
  const struct hwi_profile *profile;
  struct hwi_narrowing_rule *rules;
  uint32_t rule_count;
  uint8_t asked; /* bits of the kinds with an --only */
  uint8_t used;  /* bits of the kinds with an --only or --ignore */
  struct hwi_name_matches names;
  uint8_t *stacks; /* by number: which rules match them, see narrowing.c; NULL if there is no rule */
};

/* Returns whether there is a rule. */
bool hwi_report_is_narrowed(const struct hwi_report_options *options);

/* Returns whether there is a rule about threads or sizes. */
bool hwi_report_splits_stacks(const struct hwi_report_options *options);

/* Returns 0 if the rules in `options` are valid, else a negative status with a message. */
int hwi_narrowing_check(const struct hwi_report_options *options, struct hwi_error *error);

/* Matches the rules of the report's options with its profile. Returns 0 or a negative status. Release `filter` even
 * after a failure. */
int hwi_narrowing_init(struct hwi_narrowing *filter, const struct hwi_report *report, struct hwi_error *error);
void hwi_narrowing_release(struct hwi_narrowing *filter);

/* A block that the thread allocated in this path of scopes. */
struct hwi_narrowing_block {
  uint32_t thread, stack, scope;
  uint64_t size_bytes;
};

/* Return whether the filter keeps these blocks. hwi_narrowing_keeps_stack must only be called if all rules are about
 * frames. */
bool hwi_narrowing_keeps(const struct hwi_narrowing *filter, const struct hwi_narrowing_block *block);
bool hwi_narrowing_keeps_cell(const struct hwi_narrowing *filter, const struct hwi_profile_cell *cell);
bool hwi_narrowing_keeps_stack(const struct hwi_narrowing *filter, uint32_t stack);

/* Return whether the filter keeps the thread, or the path of scopes. Only the rules about threads, or scopes, are
 * considered. */
bool hwi_narrowing_keeps_thread(const struct hwi_narrowing *filter, uint32_t thread);
bool hwi_narrowing_keeps_path(const struct hwi_narrowing *filter, uint32_t path);

/* Adds the rule as the user wrote it: "func=main". */
void hwi_narrowing_rule_add(struct hwi_line *line, const struct hwi_narrowing_rule *rule);

/* For a rule that matches nothing in `where` ("this recording"): adds this fact, and the most similar rule that
 * would match. */
void hwi_narrowing_explain(struct hwi_line *line, const struct hwi_narrowing_rule *rule, const char *where);

/* Return whether the filter may keep only a part of a stack, thread or size. Figures that do not add up are then not
 * known for it. */
bool hwi_narrowing_splits_stacks(const struct hwi_narrowing *filter);
bool hwi_narrowing_splits_threads(const struct hwi_narrowing *filter);
bool hwi_narrowing_splits_sizes(const struct hwi_narrowing *filter);

extern const char *const hwi_narrowing_kind_names[]; /* by enum hwi_narrowing_kind */

#endif
