/* diff_json_durations.c - durations of calls in both runs, as JSON: both runs' figures as in a report, and the
 * change */
#include "compare/duration_rows.h"
#include "report/json/members.h"
#include "report/selection/entries.h"

/* Writes no times if a run has none to compare. */
static void write_change(struct hwi_json *json, const struct hwi_duration_tally *old,
                         const struct hwi_duration_tally *new)
{
  hwi_json_begin_object(json, "change");
  hwi_json_changes(json, hwi_duration_call_figures, old, new);
  if (old->calls > 0 && new->calls > 0)
    hwi_json_changes(json, hwi_duration_figures, old, new);
  hwi_json_end_object(json);
}

static void write_row(struct hwi_json *json, const struct hwi_duration_rows *rows, uint32_t row)
{
  static const char *const side_keys[HWI_SIDES] = {"old", "new"};
  for (int side = 0; side < HWI_SIDES; side++) {
    hwi_json_begin_object(json, side_keys[side]);
    hwi_json_duration_tally(json, hwi_duration_row_tally(rows, side, row));
    hwi_json_end_object(json);
  }
  write_change(json, hwi_duration_row_tally(rows, HWI_OLD, row), hwi_duration_row_tally(rows, HWI_NEW, row));
}

static void write_rows(struct hwi_json *json, const struct hwi_duration_rows *rows)
{
  hwi_json_begin_object(json, "clock_cost_ns");
  hwi_json_number(json, "old", rows->sides[HWI_OLD].clock_cost_ns);
  hwi_json_number(json, "new", rows->sides[HWI_NEW].clock_cost_ns);
  hwi_json_end_object(json);
  hwi_json_begin_array(json, "durations");
  for (uint32_t row = 0; row < rows->entry_count; row++) {
    hwi_json_begin_object(json, NULL);
    hwi_json_text(json, "entry", hwi_entry_name(rows->entries[row]));
    write_row(json, rows, row);
    hwi_json_end_object(json);
    fputc('\n', json->out);
  }
  hwi_json_end_array(json);
  hwi_json_begin_object(json, "durations_of_all");
  write_row(json, rows, rows->entry_count);
  hwi_json_end_object(json);
}

int hwi_diff_json_durations(struct hwi_json *json, const struct hwi_comparison *comparison, struct hwi_error *error)
{
  struct hwi_duration_rows rows;
  int status = hwi_duration_rows_init(&rows, comparison, error);
  if (status == HW_OK)
    write_rows(json, &rows);
  hwi_duration_rows_release(&rows);
  return status;
}
