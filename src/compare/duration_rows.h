/* duration_rows.h - how long the calls of two runs took, function by function
 *
 * row   an entry point that either run called; the last one is all of them together.
 */
#ifndef HWI_COMPARE_DURATION_ROWS_H
#define HWI_COMPARE_DURATION_ROWS_H

#include "compare/compare.h"
#include "report/durations.h"

struct hwi_json;
struct hwi_text;

struct hwi_duration_rows {
  struct hwi_report_durations sides[HWI_SIDES];
  uint8_t entries[HW_ENTRY_COUNT]; /* enum hw_entry, in NEW's order, what took most time first; then OLD's alone */
  uint32_t entry_count;            /* of rows; the one behind them is that of all */
};

/* Replays both recordings, which the comparison's options name. To be released, even after a failure. */
int hwi_duration_rows_init(struct hwi_duration_rows *rows, const struct hwi_comparison *comparison,
                           struct hwi_error *error);
void hwi_duration_rows_release(struct hwi_duration_rows *rows);

/* `row` may be entry_count. */
const struct hwi_duration_tally *hwi_duration_row_tally(const struct hwi_duration_rows *rows, int side, uint32_t row);

/* As part of the comparison's text, in place of its rows, and of its JSON object. */
int hwi_diff_text_durations(struct hwi_text *text, const struct hwi_comparison *comparison, struct hwi_error *error);
int hwi_diff_json_durations(struct hwi_json *json, const struct hwi_comparison *comparison, struct hwi_error *error);

#endif
