/* row_text.h - texts of a comparison: what its rows are called, and changes */
#ifndef HWI_COMPARE_ROW_TEXT_H
#define HWI_COMPARE_ROW_TEXT_H

#include "compare/compare.h"
#include "report/words/line.h"
#include "report/words/style.h"

/* Returns the side whose names are shown for a row: NEW, if the row has an item there. */
int hwi_diff_row_side(const struct hwi_diff_row *row);

/* Returns "new", "gone", "similar", or `both` for a row that is in both runs. */
const char *hwi_diff_row_state(const struct hwi_diff_row *row, const char *both);

/* Returns whether rows are functions, source files, source lines or modules. */
bool hwi_comparison_is_grouped(const struct hwi_comparison *comparison);

/* Returns whether rows have totals next to their own amounts: groups and scopes. */
bool hwi_comparison_has_totals(const struct hwi_comparison *comparison);

/* Adds the name of a group, thread, size, entry point or path of scopes; for a stack, the function that requested the memory. */
void hwi_diff_row_name(struct hwi_line *line, struct hwi_comparison *comparison, const struct hwi_diff_row *row,
                       size_t cells, const struct hwi_style *style);

struct hwi_number hwi_change_text(int64_t change, enum hwi_cost cost);    /* +64.0 MB, -1,024, 0 */
struct hwi_number hwi_change_share_text(uint64_t old, uint64_t new);      /* +5.3 %, -100 %; "" if `old` is 0 */
struct hwi_number hwi_change_time_text(uint64_t old_ns, uint64_t new_ns); /* +1.2 s */

#endif
