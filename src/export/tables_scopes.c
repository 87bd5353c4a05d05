/* tables_scopes.c - the table of the scopes that the program marked. Empty if it marked none */
#include <stdlib.h>

#include "export/tables.h"
#include "report/content/scopes.h"

#define COUNT "INTEGER NOT NULL"

static bool put_scope(const struct hwi_row_sink *sink, const struct hwi_profile *profile, uint32_t path,
                      const char *text, const struct hwi_scope_row *row)
{
  const struct hwi_scope *scope = &profile->scopes[path];
  struct hwi_value values[HWI_TABLE_COLUMNS_MAX] = {
      hwi_value_number(path),         hwi_value_if(scope->outer != 0, scope->outer),
      hwi_value_text(scope->name),    hwi_value_text(text),
      hwi_value_number(scope->depth),
  };
  enum { OWN_COLUMNS = 5 };
  struct hwi_value *next = hwi_values_put(values + OWN_COLUMNS, hwi_scope_figures, scope, true);
  next = hwi_values_put(next, hwi_scope_sum_figures, &row->all, true);
  hwi_values_put(next, hwi_scope_self_figures, &row->self, true);
  return sink->take(sink->context, values);
}

static bool fill_scopes(const struct hwi_tables *tables, const struct hwi_row_sink *sink)
{
  const struct hwi_profile *profile = tables->export->profile;
  struct hwi_scope_row *rows = hwi_scope_rows(profile, &tables->export->selection.narrowing);
  struct hwi_line text = {0};
  bool wanted = true;
  for (uint32_t path = 1; rows && path < profile->scope_count && wanted; path++) {
    hwi_line_clear(&text);
    hwi_scope_path_add(&text, profile, path);
    wanted = put_scope(sink, profile, path, hwi_line_text(&text), &rows[path]);
  }
  bool done = rows && !text.failed;
  hwi_line_release(&text);
  free(rows);
  return done;
}

const struct hwi_table hwi_table_scopes = {
    .name = "scopes",
    .columns = (const struct hwi_table_column[]){{"id", "INTEGER PRIMARY KEY"},
                                                 {"outer_id", "INTEGER REFERENCES scopes(id)"},
                                                 {"name", "TEXT"},
                                                 {"path", "TEXT"},
                                                 {"depth", COUNT},
                                                 {0}},
    .figures =
        (const struct hwi_figure_columns[]){
            {hwi_scope_figures, COUNT}, {hwi_scope_sum_figures, COUNT}, {hwi_scope_self_figures, COUNT}, {0}},
    .indexes = "CREATE INDEX scopes_by_name ON scopes(name)",
    .fill = fill_scopes,
};
