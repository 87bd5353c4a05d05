/* scope_rules.h - the user's rules for scopes (--scope KIND=PATTERN): which ones the frames of each stack match
 *
 * KIND is func, file or module, and the pattern as in --only (name_pattern.h). The scope of a rule has the pattern as its
 * name. profile.h explains chains, and profile/counters/scopes.h when such a scope begins and ends.
 */
#ifndef HWI_REPORT_SELECTION_SCOPE_RULES_H
#define HWI_REPORT_SELECTION_SCOPE_RULES_H

#include "report/selection/name_pattern.h"

struct hwi_scope_rule {
  struct hwi_name_pattern pattern;
  const char *text; /* as the user wrote it; its owner is the user's option or `file_text` */
};

/* All zero: no rules. */
struct hwi_scope_rules {
  struct hwi_scope_rule *items;
  size_t count, room;
  char *file_text;
  const char **names;
  struct hwi_scope_chains chains; /* set by hwi_scope_rules_match */
};

void hwi_scope_rules_release(struct hwi_scope_rules *rules);

/* Adds a rule: "func=decode_*". The text is borrowed. Returns 0 or a negative status. */
int hwi_scope_rules_add(struct hwi_scope_rules *rules, const char *text, struct hwi_error *error);

/* Adds the rules of a file, one a line; blank lines and those that begin with # are ignored. To be called once at most.
 * Returns 0 or a negative status; the message has the line. */
int hwi_scope_rules_read(struct hwi_scope_rules *rules, const char *path, struct hwi_error *error);

/* Finds the chains of the report's stacks; its profile is of the whole run. Returns 0 or a negative status. */
int hwi_scope_rules_match(struct hwi_scope_rules *rules, const struct hwi_report *report, struct hwi_error *error);

/* Adds a line for each rule that matches nothing, with the most similar one that would match. */
void hwi_scope_rules_remark(struct hwi_line *remarks, const struct hwi_scope_rules *rules);

#endif
