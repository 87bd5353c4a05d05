/* tree.h - the selected stacks as a tree, as a member of a JSON object */
#ifndef HWI_REPORT_JSON_TREE_H
#define HWI_REPORT_JSON_TREE_H

#include "report/json/json.h"
#include "report/tree.h"

/* "tree": {...} into the object begun last: nothing is folded, and nothing cut unless it is asked for. */
int hwi_json_tree(struct hwi_json *json, const struct hwi_report *report, const struct hwi_selection *selection,
                  struct hwi_named_frames *frames, struct hwi_error *error);

#endif
