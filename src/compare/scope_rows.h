/* scope_rows.h - rows of a comparison that are scopes: a path of scopes is the same in both runs if its names are
 *
 * A row's amounts are of the scope itself; its totals include the scopes inside it. */
#ifndef HWI_COMPARE_SCOPE_ROWS_H
#define HWI_COMPARE_SCOPE_ROWS_H

#include "compare/compare.h"

struct hwi_json;
struct hwi_text;

/* A scope of one side: all zero if the side has none. */
struct hwi_diff_scope {
  struct hwi_scope scope;
  struct hwi_scope_sum sum; /* with the scopes inside it */
};

/* Gets the row's scope of both sides. */
void hwi_diff_scopes_of(struct hwi_diff_scope scopes[HWI_SIDES], const struct hwi_comparison *comparison,
                        const struct hwi_diff_row *row);

/* Prints the line below a row: instances, durations and net bytes of both runs. */
void hwi_diff_text_scope(struct hwi_text *text, const struct hwi_comparison *comparison,
                         const struct hwi_diff_row *row);

/* Writes the members `path` and `scope` of a row. */
void hwi_diff_json_scope(struct hwi_json *json, const struct hwi_comparison *comparison,
                         const struct hwi_diff_row *row);

#endif
