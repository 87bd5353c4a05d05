/* duration_rows.h - how long the calls of two runs took, function by function
 *
 * row   an entry point that either run called; the last row is the sum of all.
 */
#ifndef HWI_COMPARE_DURATION_ROWS_H
#define HWI_COMPARE_DURATION_ROWS_H

#include "compare/compare.h"
#include "report/content/durations.h"

struct hwi_json;
struct hwi_text;

struct hwi_duration_rows {
  struct hwi_report_durations sides[HWI_SIDES];
  uint8_t entries[HW_ENTRY_COUNT]; /* enum hw_entry, in NEW's order, the one with most time first; then those that only
                                    * OLD called */
  uint32_t entry_count;            /* number of rows; the row after them is the sum of all */
};

/* Replays both recordings, which the comparison's options name. Returns 0 or a negative status. Release `rows` even
 * after a failure. */
int hwi_duration_rows_init(struct hwi_duration_rows *rows, const struct hwi_comparison *comparison,
                           struct hwi_error *error);
void hwi_duration_rows_release(struct hwi_duration_rows *rows);

/* Returns the durations of a row on one side. `row` may be entry_count, for the sum. */
const struct hwi_duration_tally *hwi_duration_row_tally(const struct hwi_duration_rows *rows, int side, uint32_t row);

/* Write the durations into the comparison's text, instead of its rows, and into its JSON object. Return 0 or a negative
 * status. */
int hwi_diff_text_durations(struct hwi_text *text, const struct hwi_comparison *comparison, struct hwi_error *error);
int hwi_diff_json_durations(struct hwi_json *json, const struct hwi_comparison *comparison, struct hwi_error *error);

#endif
