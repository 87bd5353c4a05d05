/* tables.h - the recording as tables, for the CSV and SQLite formats
 *
 * Columns have the names of `report --json`. Rows refer to other tables by columns that end in _id.
 */
#ifndef HWI_EXPORT_TABLES_TABLES_H
#define HWI_EXPORT_TABLES_TABLES_H

#include <math.h>

#include "export/export.h"
#include "report/content/durations.h"

enum { HWI_TABLE_COLUMNS_MAX = 40 };

struct hwi_value {
  enum {
    HWI_VALUE_NULL = 0,
    HWI_VALUE_NUMBER,
    HWI_VALUE_SIGNED,
    HWI_VALUE_REAL,
    HWI_VALUE_TEXT
  } kind; /* SIGNED: number is an int64_t */
  uint64_t number;
  double real;
  const char *text; /* any bytes, ended by NUL */
};

static inline struct hwi_value hwi_value_number(uint64_t number)
{
  return (struct hwi_value){.kind = HWI_VALUE_NUMBER, .number = number};
}

static inline struct hwi_value hwi_value_if(bool known, uint64_t number)
{
  return known ? hwi_value_number(number) : (struct hwi_value){.kind = HWI_VALUE_NULL};
}

static inline struct hwi_value hwi_value_real(double real) /* not finite: the value is unknown */
{
  return (struct hwi_value){.kind = isfinite(real) ? HWI_VALUE_REAL : HWI_VALUE_NULL, .real = real};
}

static inline struct hwi_value hwi_value_text(const char *text) /* NULL and "": the value is unknown */
{
  return (struct hwi_value){.kind = text && text[0] != '\0' ? HWI_VALUE_TEXT : HWI_VALUE_NULL, .text = text};
}

struct hwi_table_column {
  const char *name;
  const char *type; /* SQL type and constraints; NULL: the column is left out in SQL */
};

/* Columns for a list of figures. */
struct hwi_figure_columns {
  const struct hwi_figure *figures;
  const char *type;
};

/* Takes a row, which has a value for each column. Returns false if no more rows are wanted. */
struct hwi_row_sink {
  bool (*take)(void *context, const struct hwi_value *values);
  void *context;
};

/* The data for the tables. */
struct hwi_tables {
  struct hwi_export *export;
  bool wants_texts;                       /* for columns that SQL leaves out */
  struct hwi_report_durations *durations; /* computed on first use; see tables_durations.c */
};

struct hwi_table {
  const char *name;
  const struct hwi_table_column *columns;      /* ended by one without a name, as last_columns */
  const struct hwi_figure_columns *figures;    /* the columns after these, ended by one without figures; or NULL */
  const struct hwi_table_column *last_columns; /* the columns after these, or NULL */
  const char *ending;                          /* in SQL, after the columns; NULL: ")" */
  const char *indexes;                         /* in SQL: statements; NULL: none */
  bool (*fill)(const struct hwi_tables *tables, const struct hwi_row_sink *sink); /* false: no memory */
};

extern const struct hwi_table *const hwi_tables[]; /* a table comes after those that it refers to; ended by NULL */
extern const struct hwi_table hwi_table_run, hwi_table_images, hwi_table_modules, hwi_table_sizes, hwi_table_threads,
    hwi_table_timeline, hwi_table_marks, hwi_table_rss;
extern const struct hwi_table hwi_table_frames, hwi_table_stacks, hwi_table_stack_frames, hwi_table_stack_sizes,
    hwi_table_thread_stacks, hwi_table_scope_stacks;
extern const struct hwi_table hwi_table_durations, hwi_table_slow_calls, hwi_table_scopes, hwi_table_scope_threads;
extern const struct hwi_table hwi_table_counters, hwi_table_counter_points, hwi_table_heaps;

/* Release `tables` even after a failure. */
int hwi_tables_init(struct hwi_tables *tables, struct hwi_export *export, struct hwi_error *error);
void hwi_tables_release(struct hwi_tables *tables);

const struct hwi_table *hwi_table_named(const char *name); /* NULL: unknown name */

/* Returns the number of columns of a table, and gets their names and types. */
int hwi_table_columns(const struct hwi_table *table, struct hwi_table_column columns[HWI_TABLE_COLUMNS_MAX]);

/* Puts the values of such figures of `of`; they are unknown if not `known`. Returns where the next value belongs. */
struct hwi_value *hwi_values_put(struct hwi_value *values, const struct hwi_figure *figures, const void *of,
                                 bool known);

#endif
