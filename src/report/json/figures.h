/* figures.h - totals and amounts as members of a JSON object: the same names in every document */
#ifndef HWI_REPORT_JSON_FIGURES_H
#define HWI_REPORT_JSON_FIGURES_H

#include "report/input/suppressions.h"
#include "report/json/json.h"
#include "report/selection.h"

/* The words of --cost and --by, in the order of enum hwi_cost and enum hwi_by; ended by NULL. */
extern const char *const hwi_cost_names[], *const hwi_by_names[];

/* A figure by its name in documents; it is a uint64_t at offset `off` in its structure. A list ends with a field
 * without a key. */
struct hwi_json_field {
  const char *key;
  size_t off;
};
extern const struct hwi_json_field hwi_json_totals_fields[], hwi_json_amount_fields[]; /* of hwi_totals, hwi_amount */

/* These write into the object begun last. */
void hwi_json_totals(struct hwi_json *json, const struct hwi_totals *totals);
void hwi_json_run(struct hwi_json *json, const struct hwi_profile *profile); /* its trace, command and totals */
void hwi_json_amount(struct hwi_json *json, const struct hwi_amount *amount);
void hwi_json_amount_of(struct hwi_json *json, const char *key, const struct hwi_amount *amount); /* an object */

/* Writes the array `suppressions`: each line of the list with its matches. */
void hwi_json_suppressions(struct hwi_json *json, const struct hwi_suppressions *suppressions);

#endif
