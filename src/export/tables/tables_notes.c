/* tables_notes.c - the tables of what the program noted: counters, and heaps of its own. Empty if it noted none
 *
 * A counter's value that is not finite is NULL, as in `report --json`.
 */
#include "export/tables/tables.h"

#define COUNT "INTEGER NOT NULL"

static bool fill_counters(const struct hwi_tables *tables, const struct hwi_row_sink *sink)
{
  const struct hwi_profile *profile = tables->export->profile;
  for (uint32_t i = 0; i < profile->counter_count; i++) {
    const struct hwi_program_counter *counter = &profile->counters[i];
    const struct hwi_value values[] = {
        hwi_value_number(i),
        hwi_value_text(counter->name),
        hwi_value_number(counter->sets),
        hwi_value_real(counter->least),
        hwi_value_real(counter->most),
        hwi_value_real(counter->last),
    };
    if (!sink->take(sink->context, values))
      return true;
  }
  return true;
}

const struct hwi_table hwi_table_counters = {
    .name = "counters",
    .columns = (const struct hwi_table_column[]){{"id", "INTEGER PRIMARY KEY"},
                                                 {"name", "TEXT"},
                                                 {"sets", COUNT},
                                                 {"min", "REAL"},
                                                 {"max", "REAL"},
                                                 {"last", "REAL"},
                                                 {0}},
    .fill = fill_counters,
};

/* Returns false if no more rows are wanted. */
static bool put_points(const struct hwi_row_sink *sink, uint32_t id, const struct hwi_program_counter *counter)
{
  for (uint32_t i = 0; i < counter->point_count; i++) {
    const struct hwi_value values[] = {
        hwi_value_number(id),
        hwi_value_number(counter->points[i].ns),
        hwi_value_real(counter->points[i].value),
    };
    if (!sink->take(sink->context, values))
      return false;
  }
  return true;
}

static bool fill_points(const struct hwi_tables *tables, const struct hwi_row_sink *sink)
{
  const struct hwi_profile *profile = tables->export->profile;
  for (uint32_t i = 0; i < profile->counter_count; i++)
    if (!put_points(sink, i, &profile->counters[i]))
      return true;
  return true;
}

const struct hwi_table hwi_table_counter_points = {
    .name = "counter_points",
    .columns =
        (const struct hwi_table_column[]){
            {"counter_id", "INTEGER NOT NULL REFERENCES counters(id)"}, {"time_ns", COUNT}, {"value", "REAL"}, {0}},
    .fill = fill_points,
};

static bool fill_heaps(const struct hwi_tables *tables, const struct hwi_row_sink *sink)
{
  const struct hwi_profile *profile = tables->export->profile;
  for (uint32_t i = 0; i < profile->heap_count; i++) {
    struct hwi_value values[HWI_TABLE_COLUMNS_MAX] = {hwi_value_text(profile->heaps[i].name)};
    hwi_values_put(values + 1, hwi_heap_figures, &profile->heaps[i], true);
    if (!sink->take(sink->context, values))
      return true;
  }
  return true;
}

const struct hwi_table hwi_table_heaps = {
    .name = "heaps",
    .columns = (const struct hwi_table_column[]){{"name", "TEXT"}, {0}},
    .figures = (const struct hwi_figure_columns[]){{hwi_heap_figures, COUNT}, {0}},
    .fill = fill_heaps,
};
