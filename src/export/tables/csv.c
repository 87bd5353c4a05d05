/* csv.c - one table of the recording as comma-separated values (RFC 4180, lines ended by LF alone) */
#include <inttypes.h>
#include <string.h>

#include "export/tables/tables.h"
#include "report/json/json.h"

struct csv {
  FILE *out;
  int column_count;
  struct hwi_line text;
};

static void put_text(struct csv *to, const char *given)
{
  hwi_line_clear(&to->text);
  hwi_line_replace_invalid(&to->text, given);
  const char *text = hwi_line_text(&to->text);
  bool quoted = text[strcspn(text, ",\"\r\n")] != '\0';
  if (quoted)
    fputc('"', to->out);
  for (; *text != '\0'; text++) {
    if (*text == '"')
      fputc('"', to->out);
    fputc(*text, to->out);
  }
  if (quoted)
    fputc('"', to->out);
}

static bool take(void *context, const struct hwi_value *values)
{
  struct csv *to = context;
  for (int i = 0; i < to->column_count; i++) {
    if (i > 0)
      fputc(',', to->out);
    if (values[i].kind == HWI_VALUE_NUMBER)
      fprintf(to->out, "%" PRIu64, values[i].number);
    else if (values[i].kind == HWI_VALUE_SIGNED)
      fprintf(to->out, "%" PRId64, (int64_t)values[i].number);
    else if (values[i].kind == HWI_VALUE_REAL)
      hwi_json_print_real(to->out, values[i].real);
    else if (values[i].kind == HWI_VALUE_TEXT)
      put_text(to, values[i].text);
  }
  fputc('\n', to->out);
  return !ferror(to->out);
}

static int write_csv(struct hwi_export *export, struct hwi_error *error)
{
  const char *name = export->request->table ? export->request->table : "stacks";
  const struct hwi_table *table = hwi_table_named(name);
  if (!table)
    return hwi_error_set(error, HW_ERR_USAGE, "there is no table '%s'", name);
  struct csv to = {.out = export->out};
  struct hwi_row_sink sink = {take, &to};
  struct hwi_tables tables;
  int status = hwi_tables_init(&tables, export, error);
  tables.wants_texts = true;
  if (status == HW_OK) {
    struct hwi_table_column columns[HWI_TABLE_COLUMNS_MAX];
    to.column_count = hwi_table_columns(table, columns);
    for (int i = 0; i < to.column_count; i++)
      fprintf(to.out, "%s%s", i > 0 ? "," : "", columns[i].name);
    fputc('\n', to.out);
    to.text.failed |= !table->fill(&tables, &sink);
  }
  if (status == HW_OK && to.text.failed)
    status = hwi_export_no_memory(error);
  hwi_line_release(&to.text);
  hwi_tables_release(&tables);
  return status;
}

const struct hwi_export_format hwi_export_csv = {
    .name = "csv",
    .suffixes = (const char *const[]){".csv", NULL},
    .summary = "one table (--table) as comma-separated values",
    .write = write_csv,
};
