/* check.h - whether a run keeps its budgets
 *
 * verdict    of one rule: it holds, it failed, or it is unknown: not all of the run is known, and the missing part
 *            might decide.
 */
#ifndef HWI_COMPARE_CHECK_H
#define HWI_COMPARE_CHECK_H

#include <stdio.h>

#include "compare/measure.h"
#include "report/words/style.h"

enum hwi_verdict_state { HWI_VERDICT_OK, HWI_VERDICT_FAILED, HWI_VERDICT_UNKNOWN };

enum { HWI_NOTES_MAX = HWI_FILTERS_MAX };

struct hwi_verdict {
  const struct hwi_budget *budget;
  const struct hwi_measure *measure;
  enum hwi_verdict_state state;
  uint64_t limit;
  uint64_t baseline;          /* if the limit is a change */
  uint64_t *growth;           /* by stack: increase over the baseline, if a rule about a change FAILED; else NULL */
  char *why;                  /* of UNKNOWN; else NULL */
  char *notes[HWI_NOTES_MAX]; /* patterns that match nothing in the trace, with the nearest name */
  size_t note_count;
};

struct hwi_check {
  struct hwi_report report; /* on the run, for its names */
  struct hwi_named_frames frames;
  const struct hwi_budgets *budgets;
  struct hwi_measure *measures, *base_measures;
  struct hwi_verdict *verdicts; /* as many as there are rules, in their order */
  uint64_t top;                 /* number of blamed stacks to show */
};

/* A profile, and its run's events. */
struct hwi_check_run {
  const struct hwi_profile *profile;
  struct hwi_replayer replayer; /* its `run` is NULL: it cannot be replayed */
  uint32_t rest;                /* the stack that has all amounts without a known stack; 0: none */
};

struct hwi_check_question {
  struct hwi_check_run run, baseline; /* baseline.profile may be NULL: no baseline */
  struct hwi_names names, baseline_names;
  const struct hwi_budgets *budgets;
  struct hwi_suppressions *suppressions; /* NULL: none; each line's matches are counted in it */
  uint64_t top;
  bool all_frames;
};

/* The arguments are borrowed. Returns 0, or a negative status; HW_ERR_USAGE if a rule cannot be applied to the run.
 * Release `check` even after a failure. */
int hwi_check_init(struct hwi_check *check, const struct hwi_check_question *question, struct hwi_error *error);
void hwi_check_release(struct hwi_check *check);

/* Returns FAILED if any rule failed, else UNKNOWN if any is unknown, else OK. */
enum hwi_verdict_state hwi_check_state(const struct hwi_check *check);

const char *hwi_verdict_word(enum hwi_verdict_state state); /* "ok", "FAILED", "unknown" */

struct hwi_line;
struct hwi_number;

/* Adds "148.9 MB of 105.0 MB (+5% of 100.0 MB)". */
void hwi_verdict_add_figures(struct hwi_line *line, const struct hwi_verdict *verdict);

/* All return 0, or a negative status if there is no memory. JUnit shows stacks as the text does. */
int hwi_check_text(struct hwi_check *check, const struct hwi_style *style, struct hwi_error *error);
int hwi_check_json(struct hwi_check *check, FILE *out, struct hwi_error *error);
int hwi_check_junit(struct hwi_check *check, FILE *out, struct hwi_error *error);

#endif
