/* tables.h - the lists by size, thread and entry point, size classes and handovers as members of a JSON object
 *
 * Each function writes a member of the object begun last.
 */
#ifndef HWI_REPORT_JSON_TABLES_H
#define HWI_REPORT_JSON_TABLES_H

#include "report/json/json.h"
#include "report/selection/selection.h"

/* With a filter: the amounts that are kept, and no maximum, which is not known for a part. */
void hwi_json_sizes(struct hwi_json *json, const struct hwi_profile *profile, const struct hwi_narrowing *filter);
void hwi_json_threads(struct hwi_json *json, const struct hwi_profile *profile, const struct hwi_narrowing *filter);

/* Writes the array `by_entry`: the entry points that were called. */
void hwi_json_entries(struct hwi_json *json, const struct hwi_profile *profile, const struct hwi_selection *selection);

/* Writes "size_classes": {...} into the object begun last: the moments once, and the classes that ever held
 * something. */
void hwi_json_size_classes(struct hwi_json *json, const struct hwi_profile *profile);

/* Writes "handovers": [...], one item for each pair of threads, into the object begun last. */
void hwi_json_handovers(struct hwi_json *json, const struct hwi_profile *profile);

#endif
