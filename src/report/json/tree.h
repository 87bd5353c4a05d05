/* tree.h - the selected stacks as a tree, as a member of a JSON object */
#ifndef HWI_REPORT_JSON_TREE_H
#define HWI_REPORT_JSON_TREE_H

#include "report/json/json.h"
#include "report/tree.h"

/* Writes "tree": {...} into the object begun last. Nothing is folded; branches are cut only if the options say so.
 * Returns 0 or a negative status. */
int hwi_json_tree(struct hwi_json *json, const struct hwi_report *report, const struct hwi_selection *selection,
                  struct hwi_named_frames *frames, struct hwi_error *error);

#endif
