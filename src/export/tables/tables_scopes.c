/* tables_scopes.c - the tables of the scopes that the program marked. Empty if it marked none */
#include <stdlib.h>

#include "export/tables/tables.h"
#include "report/content/scopes.h"
#include "trace/grow.h"

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

/* --- what threads allocated in them --- */

struct thread_sums {
  struct hwi_numbering pairs; /* (path, thread) */
  struct hwi_amount *amounts; /* by number */
  size_t capacity;
};

/* Returns false if there is no memory. */
static bool add_cell(struct thread_sums *sums, const struct hwi_profile *profile, const struct hwi_profile_cell *cell)
{
  const uint32_t known = sums->pairs.count, number = hwi_numbering_of(&sums->pairs, cell->scope, cell->thread);
  const struct hwi_amount amount = hwi_amount_of_cell(profile, cell);
  if (number == 0 || !hwi_grow((void **)&sums->amounts, &sums->capacity, (size_t)number + 1, sizeof *sums->amounts))
    return false;
  if (number > known)
    sums->amounts[number] = (struct hwi_amount){0};
  hwi_amount_add(&sums->amounts[number], &amount);
  return true;
}

static bool fill_scope_threads(const struct hwi_tables *tables, const struct hwi_row_sink *sink)
{
  const struct hwi_export *export = tables->export;
  struct thread_sums sums = {0};
  bool done = true, wanted = true;
  for (uint32_t i = 0; i < export->profile->cell_count && done; i++) {
    const struct hwi_profile_cell *cell = &export->profile->cells[i];
    if (cell->scope != 0 && export->is_chosen[cell->stack] &&
        hwi_narrowing_keeps_cell(&export->selection.narrowing, cell))
      done = add_cell(&sums, export->profile, cell);
  }
  for (uint32_t i = 1; i <= sums.pairs.count && done && wanted; i++) {
    struct hwi_value values[HWI_TABLE_COLUMNS_MAX] = {hwi_value_number(sums.pairs.pairs[i].a),
                                                      hwi_value_number(sums.pairs.pairs[i].b)};
    hwi_values_put(values + 2, hwi_amount_figures, &sums.amounts[i], true);
    wanted = sink->take(sink->context, values);
  }
  hwi_numbering_release(&sums.pairs);
  free(sums.amounts);
  return done;
}

const struct hwi_table hwi_table_scope_threads = {
    .name = "scope_threads",
    .columns = (const struct hwi_table_column[]){{"scope_id", "INTEGER NOT NULL REFERENCES scopes(id)"},
                                                 {"thread_id", "INTEGER NOT NULL REFERENCES threads(id)"},
                                                 {0}},
    .figures = (const struct hwi_figure_columns[]){{hwi_amount_figures, COUNT}, {0}},
    .ending = ", PRIMARY KEY (scope_id, thread_id)) WITHOUT ROWID",
    .indexes = "CREATE INDEX scope_threads_by_thread ON scope_threads(thread_id)",
    .fill = fill_scope_threads,
};
