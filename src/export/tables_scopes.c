/* tables_scopes.c - the table of the scopes that the program marked. Empty if it marked none */
#include <stdlib.h>

#include "export/tables.h"
#include "report/content/scopes.h"

#define COUNT "INTEGER NOT NULL"

/* The columns of a struct hwi_scope_sum: with the scopes inside, or only of the scope itself. */
#define SUM_COLUMNS(prefix)                                                                                 \
  {prefix "duration_ns", COUNT}, {prefix "allocation_calls", COUNT}, {prefix "free_calls", COUNT},          \
      {prefix "failed_calls", COUNT}, {prefix "temporary_calls", COUNT}, {prefix "allocated_bytes", COUNT}, \
      {prefix "net_bytes", COUNT}, {prefix "net_blocks", COUNT}, {prefix "peak_bytes", COUNT},              \
      {prefix "live_bytes_at_end", COUNT},                                                                  \
  {                                                                                                         \
    prefix "live_blocks_at_end", COUNT                                                                      \
  }

/* Returns where the next value belongs. */
static struct hwi_value *put_sum(struct hwi_value *values, const struct hwi_scope_sum *sum)
{
  *values++ = hwi_value_number(sum->duration_ns);
  *values++ = hwi_value_number(sum->amount.calls);
  *values++ = hwi_value_number(sum->free_calls);
  *values++ = hwi_value_number(sum->failed_calls);
  *values++ = hwi_value_number(sum->amount.temporary_calls);
  *values++ = hwi_value_number(sum->amount.bytes);
  *values++ = hwi_value_signed(hwi_scope_net_bytes(sum));
  *values++ = hwi_value_signed(hwi_scope_net_blocks(sum));
  *values++ = hwi_value_number(sum->amount.peak_bytes);
  *values++ = hwi_value_number(sum->amount.live_bytes);
  *values++ = hwi_value_number(sum->amount.live_blocks);
  return values;
}

static bool put_scope(const struct hwi_row_sink *sink, const struct hwi_profile *profile, uint32_t path,
                      const char *text, const struct hwi_scope_row *row)
{
  const struct hwi_scope *scope = &profile->scopes[path];
  struct hwi_value values[HWI_TABLE_COLUMNS_MAX] = {
      hwi_value_number(path),
      hwi_value_if(scope->outer != 0, scope->outer),
      hwi_value_text(scope->name),
      hwi_value_text(text),
      hwi_value_number(scope->depth),
      hwi_value_number(scope->instances),
      hwi_value_number(scope->left_open),
      hwi_value_number(scope->allocating),
      hwi_value_number(scope->last_allocating),
      hwi_value_number(scope->max_ns),
      hwi_value_number(scope->peak_bytes),
  };
  enum { OWN_COLUMNS = 11 };
  put_sum(put_sum(values + OWN_COLUMNS, &row->all), &row->self);
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
                                                 {"instances", COUNT},
                                                 {"instances_left_open", COUNT},
                                                 {"allocating_instances", COUNT},
                                                 {"last_allocating_instance", COUNT},
                                                 {"max_duration_ns", COUNT},
                                                 {"max_net_bytes", COUNT},
                                                 SUM_COLUMNS(""),
                                                 SUM_COLUMNS("self_"),
                                                 {0}},
    .indexes = "CREATE INDEX scopes_by_name ON scopes(name)",
    .fill = fill_scopes,
};
