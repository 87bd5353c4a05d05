/* tables.c - the list of tables, and the data for them */
#include "export/tables/tables.h"

#include <stdlib.h>
#include <string.h>

const struct hwi_table *const hwi_tables[] = {
    &hwi_table_stacks,       &hwi_table_run,
    &hwi_table_images,       &hwi_table_modules,
    &hwi_table_frames,       &hwi_table_stack_frames,
    &hwi_table_sizes,        &hwi_table_stack_sizes,
    &hwi_table_threads,      &hwi_table_thread_stacks,
    &hwi_table_timeline,     &hwi_table_marks,
    &hwi_table_rss,          &hwi_table_durations,
    &hwi_table_slow_calls,   &hwi_table_scopes,
    &hwi_table_scope_stacks, &hwi_table_scope_threads,
    &hwi_table_counters,     &hwi_table_counter_points,
    &hwi_table_heaps,        NULL,
};

const struct hwi_table *hwi_table_named(const char *name)
{
  for (const struct hwi_table *const *table = hwi_tables; *table; table++) {
    if (strcmp((*table)->name, name) == 0)
      return *table;
  }
  return NULL;
}

int hwi_table_columns(const struct hwi_table *table, struct hwi_table_column columns[HWI_TABLE_COLUMNS_MAX])
{
  int count = 0;
  for (const struct hwi_table_column *column = table->columns; column->name; column++)
    columns[count++] = *column;
  for (const struct hwi_figure_columns *list = table->figures; list && list->figures; list++) {
    for (const struct hwi_figure *figure = list->figures; figure->key; figure++) {
      if (!figure->not_in_tables)
        columns[count++] = (struct hwi_table_column){figure->key, list->type};
    }
  }
  for (const struct hwi_table_column *column = table->last_columns; column && column->name; column++)
    columns[count++] = *column;
  return count;
}

struct hwi_value *hwi_values_put(struct hwi_value *values, const struct hwi_figure *figures, const void *of, bool known)
{
  for (; figures->key; figures++) {
    if (figures->not_in_tables)
      continue;
    *values = hwi_value_if(known, hwi_figure_value(figures, of));
    if (figures->is_signed && known)
      values->kind = HWI_VALUE_SIGNED;
    values++;
  }
  return values;
}

int hwi_tables_init(struct hwi_tables *tables, struct hwi_export *export, struct hwi_error *error)
{
  *tables = (struct hwi_tables){.export = export};
  tables->durations = calloc(1, sizeof *tables->durations);
  return tables->durations ? HW_OK : hwi_export_no_memory(error);
}

void hwi_tables_release(struct hwi_tables *tables)
{
  if (tables->durations)
    hwi_report_durations_release(tables->durations);
  free(tables->durations);
  *tables = (struct hwi_tables){0};
}
