/* figures.h - totals and amounts as members of a JSON object: the same names in every document */
#ifndef HWI_REPORT_JSON_FIGURES_H
#define HWI_REPORT_JSON_FIGURES_H

#include "report/json/json.h"
#include "report/selection/figures.h"
#include "report/selection/leaks.h"
#include "report/selection/selection.h"

/* These write into the object begun last. */
void hwi_json_figures(struct hwi_json *json, const struct hwi_figure *figures, const void *of);
void hwi_json_changes(struct hwi_json *json, const struct hwi_figure *figures, const void *old, const void *new);
void hwi_json_run(struct hwi_json *json, const struct hwi_profile *profile); /* its trace, command and totals */
void hwi_json_amount(struct hwi_json *json, const struct hwi_amount *amount);
void hwi_json_amount_of(struct hwi_json *json, const char *key, const struct hwi_amount *amount); /* an object */

/* Writes the array `suppressions`: each line of the list with its matches. */
void hwi_json_suppressions(struct hwi_json *json, const struct hwi_suppressions *suppressions);

/* Writes "lifetimes": {...} into the object begun last. */
void hwi_json_lifetimes(struct hwi_json *json, const uint64_t lifetimes[HWI_LIFETIMES]);

#endif
