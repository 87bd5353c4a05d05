/* rows.h - how the rows of a comparison are made (private to compare/) */
#ifndef HWI_COMPARE_ROWS_H
#define HWI_COMPARE_ROWS_H

#include "compare/compare.h"

/* Rows by an ID that the items of both sides share. */
struct hwi_diff_row_table {
  struct hwi_comparison *comparison;
  uint32_t *rows; /* by ID: the row's index plus 1; 0: none yet */
  size_t room;
};

/* Returns the row of `number`, which is created if there is none, or NULL if there is no memory. The pointer is valid
 * until the next call. */
struct hwi_diff_row *hwi_diff_row_table_find(struct hwi_diff_row_table *table, uint32_t number);
void hwi_diff_row_table_release(struct hwi_diff_row_table *table);

/* Adds an item to its row. The first item of a side represents the row; callers add the largest first. */
void hwi_diff_row_add(struct hwi_diff_row *row, int side, uint32_t item, const struct hwi_amount *amount);

/* Gets the loose IDs of a row's path, outermost first; *count is 0 if the path is unknown. They are valid until the
 * next call. Returns false if there is no memory. */
typedef bool hwi_loose_path(void *context, int side, const struct hwi_diff_row *row, const uint32_t **numbers,
                            size_t *count);

/* Joins a row that only OLD has with one that only NEW has if they are most likely the same code: see similar_rows.c.
 * Returns false if there is no memory. */
bool hwi_join_similar(struct hwi_comparison *comparison, hwi_loose_path *path_of, void *context);

/* Fill comparison->rows, in any order. Return 0 or a negative status. */
int hwi_stack_rows(struct hwi_comparison *comparison, struct hwi_error *error);
int hwi_group_rows(struct hwi_comparison *comparison, struct hwi_error *error);
int hwi_thread_rows(struct hwi_comparison *comparison, struct hwi_error *error);
int hwi_size_rows(struct hwi_comparison *comparison, struct hwi_error *error);
int hwi_entry_rows(struct hwi_comparison *comparison, struct hwi_error *error);
int hwi_scope_path_rows(struct hwi_comparison *comparison, struct hwi_error *error);

#endif
