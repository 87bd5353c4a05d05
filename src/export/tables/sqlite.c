/* sqlite.c - all tables as an SQLite database, with keys, indexes and a view of whole stacks */
#include <errno.h>
#include <string.h>

#include "export/tables/sqlite_library.h"
#include "export/tables/tables.h"

struct database {
  struct hwi_sqlite_library sqlite;
  sqlite3 *handle;
  sqlite3_stmt *insert;
  struct hwi_table_column columns[HWI_TABLE_COLUMNS_MAX]; /* of the current table */
  int column_count;
  struct hwi_line text;
  int status; /* SQLITE_OK, or the first error */
  int os_error;
};

/* An unfinished database is deleted, so it needs no journal. The application ID is "HWT1". */
static const char preparation[] =
    "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
    "PRAGMA application_id = 0x48575431; BEGIN";
static const char views[] =
    "CREATE VIEW stack_texts AS SELECT stack_id, group_concat(function, ' < ') AS stack FROM "
    "(SELECT stack_id, function FROM stack_frames JOIN frames ON frames.id = frame_id ORDER BY stack_id, position) "
    "GROUP BY stack_id";

static void check(struct database *to, int status)
{
  if (status == SQLITE_OK || to->status != SQLITE_OK)
    return;
  to->os_error =
      errno; /* of the system call that has just failed; sqlite3_system_errno does not store those of writes */
  to->status = status;
}

static void execute(struct database *to, const char *statements)
{
  if (to->status != SQLITE_OK)
    return;
  errno = 0;
  check(to, to->sqlite.exec(to->handle, statements, NULL, NULL, NULL));
}

static void bind(struct database *to, int column, const struct hwi_value *value)
{
  if (value->kind == HWI_VALUE_NUMBER || value->kind == HWI_VALUE_SIGNED) {
    to->sqlite.bind_int64(to->insert, column, (sqlite3_int64)value->number);
  } else if (value->kind == HWI_VALUE_REAL) {
    to->sqlite.bind_double(to->insert, column, value->real);
  } else if (value->kind == HWI_VALUE_TEXT) {
    hwi_line_clear(&to->text);
    hwi_line_replace_invalid(&to->text, value->text);
    to->sqlite.bind_text(to->insert, column, hwi_line_text(&to->text), -1, SQLITE_TRANSIENT);
  } else {
    to->sqlite.bind_null(to->insert, column);
  }
}

static bool take(void *context, const struct hwi_value *values)
{
  struct database *to = context;
  int column = 0;
  for (int i = 0; i < to->column_count; i++)
    if (to->columns[i].type)
      bind(to, ++column, &values[i]);
  errno = 0;
  int status = to->sqlite.step(to->insert);
  check(to, status == SQLITE_DONE ? SQLITE_OK : status);
  to->sqlite.reset(to->insert);
  return to->status == SQLITE_OK;
}

static void create_table(struct database *to, const struct hwi_table *table)
{
  struct hwi_line create = {0}, insert = {0};
  hwi_line_printf(&create, "CREATE TABLE %s (", table->name);
  hwi_line_printf(&insert, "INSERT INTO %s VALUES (", table->name);
  const char *separator = "";
  to->column_count = hwi_table_columns(table, to->columns);
  for (int i = 0; i < to->column_count; i++) {
    const struct hwi_table_column *column = &to->columns[i];
    if (!column->type)
      continue;
    hwi_line_printf(&create, "%s%s %s", separator, column->name, column->type);
    hwi_line_printf(&insert, "%s?", separator);
    separator = ", ";
  }
  hwi_line_puts(&create, table->ending ? table->ending : ")");
  hwi_line_puts(&insert, ")");
  execute(to, hwi_line_text(&create));
  if (to->status == SQLITE_OK)
    check(to, to->sqlite.prepare_v2(to->handle, hwi_line_text(&insert), -1, &to->insert, NULL));
  hwi_line_release(&create);
  hwi_line_release(&insert);
}

static void write_table(struct database *to, const struct hwi_tables *tables, const struct hwi_table *table)
{
  struct hwi_row_sink sink = {take, to};
  to->insert = NULL;
  create_table(to, table);
  if (to->status == SQLITE_OK)
    to->text.failed |= !table->fill(tables, &sink);
  to->sqlite.finalize(to->insert);
  if (table->indexes)
    execute(to, table->indexes);
}

static int write_database(struct database *to, struct hwi_export *export, struct hwi_error *error)
{
  struct hwi_tables tables;
  int status = hwi_tables_init(&tables, export, error);
  if (status == HW_OK) {
    check(to, to->sqlite.open_v2(export->request->path, &to->handle, SQLITE_OPEN_READWRITE, NULL));
    execute(to, preparation);
    for (const struct hwi_table *const *table = hwi_tables; *table && to->status == SQLITE_OK; table++)
      write_table(to, &tables, *table);
    execute(to, views);
    execute(to, "COMMIT");
  }
  hwi_tables_release(&tables);
  return status;
}

static int write_sqlite(struct hwi_export *export, struct hwi_error *error)
{
  struct database to = {.status = SQLITE_OK};
  int status = hwi_sqlite_library_load(&to.sqlite, error);
  if (status < 0)
    return status;
  status = write_database(&to, export, error);
  if (status == HW_OK && to.text.failed)
    status = hwi_export_no_memory(error);
  if (status == HW_OK && to.status != SQLITE_OK) {
    status = hwi_error_set(error, HW_ERR_IO, "cannot write %s: %s", export->request->name,
                           to.os_error != 0 ? strerror(to.os_error) : to.sqlite.errstr(to.status));
  }
  to.sqlite.close(to.handle);
  hwi_line_release(&to.text);
  return status;
}

const struct hwi_export_format hwi_export_sqlite = {
    .name = "sqlite",
    .suffixes = (const char *const[]){".sqlite", ".sqlite3", ".db", NULL},
    .summary = "all tables in an SQLite database",
    .is_binary = true,
    .needs_file = true,
    .write = write_sqlite,
};
