/* groups.h - stacks grouped by function, source file, source line or module, as a list or a tree in a JSON object */
#ifndef HWI_REPORT_JSON_GROUPS_H
#define HWI_REPORT_JSON_GROUPS_H

#include "report/content/groups.h"
#include "report/content/tree.h"
#include "report/json/json.h"

/* Writes "by_function": [...] or another list, as options.by says, into the object begun last; nothing if options.by
 * is none of them. Returns 0 or a negative status. */
int hwi_json_groups(struct hwi_json *json, const struct hwi_report *report, const struct hwi_selection *selection,
                    const struct hwi_named_frames *frames, struct hwi_error *error);

/* Writes "tree": {...} into the object begun last. Nothing is folded; branches are cut only if the options say so.
 * Returns 0 or a negative status. */
int hwi_json_tree(struct hwi_json *json, const struct hwi_report *report, const struct hwi_selection *selection,
                  struct hwi_named_frames *frames, struct hwi_error *error);

/* Returns how many of `count` rows are written. */
uint64_t hwi_json_rows(const struct hwi_report_options *options, uint64_t count);

#endif
