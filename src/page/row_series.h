/* row_series.h - the changes of a table's rows in each slice of time
 *
 * entry      the changes of one row in one slice. There is no entry if nothing changed, so that memory is at most rows
 *            times slices, and usually much less.
 */
#ifndef HWI_PAGE_ROW_SERIES_H
#define HWI_PAGE_ROW_SERIES_H

#include "page/packed.h"
#include "profile/profile.h"

struct hwi_page_entry {
  uint32_t row, slice;
  uint64_t calls, bytes;
  uint64_t ended[HWI_ENDINGS]; /* ended blocks, also those allocated in earlier slices */
  int64_t live_bytes;          /* the change of live bytes */
};

/* Invariant: entries are in the order of slices; `now` of a row that is not open is all zero. */
struct hwi_page_series {
  struct hwi_page_entry *now; /* by row: the current slice */
  bool *is_open;              /* ... whether something changed in it */
  uint32_t *open, open_count, row_count;
  struct hwi_page_entry *entries;
  size_t count, capacity;
};

/* Returns false if there is no memory. Release `series` even after a failure. */
bool hwi_page_series_init(struct hwi_page_series *series, uint32_t row_count);
void hwi_page_series_release(struct hwi_page_series *series);

/* Returns the row's entry in the current slice. */
static inline struct hwi_page_entry *hwi_page_series_now(struct hwi_page_series *series, uint32_t row)
{
  if (!series->is_open[row]) {
    series->is_open[row] = true;
    series->open[series->open_count++] = row;
  }
  return &series->now[row];
}

/* Ends the current slice. Returns false if there is no memory. */
bool hwi_page_series_end_slice(struct hwi_page_series *series, uint32_t slice);

/* Merges rows or slices: to_row[r] gets the entries of row r, and to_slice[s], which never decreases, those of slice s.
 * NULL: no change. Call it between two slices. */
void hwi_page_series_merge(struct hwi_page_series *series, const uint32_t *to_row, const uint32_t *to_slice);

/* Writes the series of a table with `row_count` rows as the member `series` (docs/page-data.md). Rows that are not
 * wanted get no entries. NULL: all rows are wanted. */
void hwi_json_page_series(struct hwi_json *json, const struct hwi_page_series *series, uint32_t row_count,
                          const bool *wanted);

#endif
