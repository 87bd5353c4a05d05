/* tables_durations.c - the tables of durations of calls: by entry point, and the slowest calls. Empty if durations were
 * not recorded
 *
 * Both need the events, which are replayed once for both.
 */
#include <inttypes.h>
#include <stdio.h>

#include "export/tables/tables.h"

#define COUNT "INTEGER NOT NULL"

/* Returns the durations of the chosen calls, or NULL if there is no memory or the recording cannot be read again. */
static const struct hwi_report_durations *durations_of(const struct hwi_tables *tables)
{
  struct hwi_report_durations *found = tables->durations;
  if (found->is_gathered)
    return found;
  struct hwi_export *export = tables->export;
  const struct hwi_durations_wanted wanted = {.slow_calls = HWI_SLOW_CALLS_JSON};
  int status = hwi_report_durations_init(found, &export->request->report, &export->selection.narrowing, wanted, NULL);
  if (status < 0)
    hwi_report_durations_release(found);
  return status == HW_OK ? found : NULL;
}

static bool fill_durations(const struct hwi_tables *tables, const struct hwi_row_sink *sink)
{
  if (!hwi_profile_is_timed(tables->export->profile))
    return true;
  const struct hwi_report_durations *found = durations_of(tables);
  for (uint32_t i = 0; found && i < found->entry_count; i++) {
    const struct hwi_duration_tally *tally = &found->durations.entries[found->entries[i]];
    struct hwi_value values[HWI_TABLE_COLUMNS_MAX] = {hwi_value_text(hwi_export_entry_name(found->entries[i]))};
    struct hwi_value *next = hwi_values_put(values + 1, hwi_duration_call_figures, tally, true);
    hwi_values_put(next, hwi_duration_figures, tally, true);
    if (!sink->take(sink->context, values))
      return true;
  }
  return found;
}

const struct hwi_table hwi_table_durations = {
    .name = "durations",
    .columns = (const struct hwi_table_column[]){{"entry", "TEXT PRIMARY KEY"}, {0}},
    .figures =
        (const struct hwi_figure_columns[]){{hwi_duration_call_figures, COUNT}, {hwi_duration_figures, COUNT}, {0}},
    .ending = ")",
    .indexes = "",
    .fill = fill_durations,
};

static bool fill_slow_calls(const struct hwi_tables *tables, const struct hwi_row_sink *sink)
{
  if (!hwi_profile_is_timed(tables->export->profile))
    return true;
  const struct hwi_report_durations *found = durations_of(tables);
  for (size_t i = 0; found && i < found->durations.slow_count; i++) {
    const struct hwi_slow_call *call = &found->durations.slowest[i];
    const struct hwi_value values[] = {
        hwi_value_number(i + 1),
        hwi_value_text(hwi_export_entry_name(call->entry)),
        hwi_value_number(call->took_ns),
        hwi_value_number(call->ns),
        hwi_value_number(call->size),
        hwi_value_number(call->address),
        hwi_value_number(call->failed),
        hwi_value_number(call->thread),
        hwi_value_if(call->stack != 0, call->stack),
    };
    if (!sink->take(sink->context, values))
      return true;
  }
  return found;
}

/* The stack of a slow call may not be a chosen one. */
const struct hwi_table hwi_table_slow_calls = {
    .name = "slow_calls",
    .columns = (const struct hwi_table_column[]){{"id", "INTEGER PRIMARY KEY"},
                                                 {"entry", "TEXT"},
                                                 {"took_ns", COUNT},
                                                 {"time_ns", COUNT},
                                                 {"size", COUNT},
                                                 {"address", COUNT},
                                                 {"failed", COUNT},
                                                 {"thread_id", "INTEGER NOT NULL"},
                                                 {"stack_id", "INTEGER"},
                                                 {0}},
    .ending = ")",
    .indexes = "",
    .fill = fill_slow_calls,
};
