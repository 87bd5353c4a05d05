/* row_series.h - what rows of a table did in each slice of time
 *
 * entry      what one row did in one slice. Where nothing happened there is none, so that memory is bounded by the rows times
 *            the slices, and mostly far below.
 */
#ifndef HWI_PAGE_ROW_SERIES_H
#define HWI_PAGE_ROW_SERIES_H

#include "page/packed.h"
#include "profile/profile.h"

/* How a block ends: freed after an enum hwi_lifetime, with its process while others of the run go on, or unseen. */
enum { HWI_PAGE_LEFT = HWI_LIFETIME_UNTIL_END, HWI_PAGE_UNSEEN = HWI_LIFETIMES, HWI_PAGE_ENDINGS };

struct hwi_page_entry {
  uint32_t row, slice;
  uint64_t calls, bytes;
  uint64_t ended[HWI_PAGE_ENDINGS]; /* blocks, whenever they were allocated */
  int64_t live_bytes;               /* what it changed by */
};

/* Invariant: entries are in the order of slices; `now` of a row that is not open is all zero. */
struct hwi_page_series {
  struct hwi_page_entry *now; /* by row: the slice under way */
  bool *is_open;              /* ... something happened in it */
  uint32_t *open, open_count, row_count;
  struct hwi_page_entry *entries;
  size_t count, capacity;
};

/* False: no memory. To be released, even after a failure. */
bool hwi_page_series_init(struct hwi_page_series *ledger, uint32_t row_count);
void hwi_page_series_release(struct hwi_page_series *ledger);

/* The row's entry in the slice under way. */
static inline struct hwi_page_entry *hwi_page_series_now(struct hwi_page_series *ledger, uint32_t row)
{
  if (!ledger->is_open[row]) {
    ledger->is_open[row] = true;
    ledger->open[ledger->open_count++] = row;
  }
  return &ledger->now[row];
}

/* The slice under way ends. False: no memory. */
bool hwi_page_series_end_slice(struct hwi_page_series *ledger, uint32_t slice);

/* Rows or slices become fewer: to_row[r] takes what row r had, to_slice[s], which never falls, what slice s had. NULL: these stay.
 * Between two slices. */
void hwi_page_series_merge(struct hwi_page_series *ledger, const uint32_t *to_row, const uint32_t *to_slice);

/* Writes the series of a table with `row_count` rows as the member `series` (docs/page-data.md): of the rows that are wanted; the
 * others have no entries. NULL: of all. */
void hwi_json_page_series(struct hwi_json *json, const struct hwi_page_series *ledger, uint32_t row_count,
                          const bool *wanted);

#endif
