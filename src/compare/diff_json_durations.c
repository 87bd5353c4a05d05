/* diff_json_durations.c - durations of calls in both runs, as JSON: both runs' figures as in a report, and the
 * change */
#include <stdio.h>

#include "compare/duration_rows.h"
#include "report/entries.h"
#include "report/json/durations.h"

/* Writes no times if a run has none to compare. */
static void write_change(struct hwi_json *json, const struct hwi_duration_tally *old,
                         const struct hwi_duration_tally *new)
{
  hwi_json_begin_object(json, "change");
  hwi_json_signed(json, "calls", (int64_t)(new->calls - old->calls));
  if (old->calls > 0 && new->calls > 0) {
    char mean[64];
    snprintf(mean, sizeof mean, "\"mean_ns\":%.1f",
             (double)new->sum_ns / (double)new->calls - (double)old->sum_ns / (double)old->calls);
    hwi_json_signed(json, "total_ns", (int64_t)(new->sum_ns - old->sum_ns));
    hwi_json_raw(json, mean);
    for (int i = 0; i < HWI_JSON_QUANTILES; i++) {
      uint32_t part = hwi_json_quantiles[i].part;
      hwi_json_signed(json, hwi_json_quantiles[i].key,
                      (int64_t)(hwi_duration_quantile(new, part) - hwi_duration_quantile(old, part)));
    }
    hwi_json_signed(json, "max_ns", (int64_t)(new->max_ns - old->max_ns));
  }
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
