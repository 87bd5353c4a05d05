/* duration_rows.c - durations of the calls of two runs, by function */
#include "compare/duration_rows.h"

static bool has_entry(const struct hwi_duration_rows *rows, uint8_t entry)
{
  for (uint32_t i = 0; i < rows->entry_count; i++) {
    if (rows->entries[i] == entry)
      return true;
  }
  return false;
}

static void add_entries(struct hwi_duration_rows *rows, const struct hwi_report_durations *found)
{
  for (uint32_t i = 0; i < found->entry_count; i++) {
    if (!has_entry(rows, found->entries[i]))
      rows->entries[rows->entry_count++] = found->entries[i];
  }
}

int hwi_duration_rows_init(struct hwi_duration_rows *rows, const struct hwi_comparison *comparison,
                           struct hwi_error *error)
{
  const struct hwi_durations_wanted wanted = {.slow_calls = 1}; /* slow calls belong to one run and are not compared; 0
                                                                 * would mean all */
  int status = HW_OK;
  *rows = (struct hwi_duration_rows){0};
  for (int side = 0; side < HWI_SIDES && status == HW_OK; side++) {
    const struct hwi_compare_side *of = &comparison->sides[side];
    status = hwi_report_durations_init(&rows->sides[side], &of->report, &of->selection.narrowing, wanted, error);
  }
  if (status == HW_OK) {
    add_entries(rows, &rows->sides[HWI_NEW]);
    add_entries(rows, &rows->sides[HWI_OLD]);
  }
  return status;
}

void hwi_duration_rows_release(struct hwi_duration_rows *rows)
{
  for (int side = 0; side < HWI_SIDES; side++)
    hwi_report_durations_release(&rows->sides[side]);
}

const struct hwi_duration_tally *hwi_duration_row_tally(const struct hwi_duration_rows *rows, int side, uint32_t row)
{
  const struct hwi_report_durations *found = &rows->sides[side];
  return row < rows->entry_count ? &found->durations.entries[rows->entries[row]] : &found->all;
}
