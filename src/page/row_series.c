/* row_series.c - the changes of a table's rows in each slice of time */
#include "page/row_series.h"

#include <stdlib.h>

#include "trace/grow.h"

bool hwi_page_series_init(struct hwi_page_series *series, uint32_t row_count)
{
  *series = (struct hwi_page_series){.row_count = row_count};
  series->now = calloc((size_t)row_count + 1, sizeof *series->now);
  series->is_open = calloc((size_t)row_count + 1, sizeof *series->is_open);
  series->open = calloc((size_t)row_count + 1, sizeof *series->open);
  return series->now && series->is_open && series->open;
}

void hwi_page_series_release(struct hwi_page_series *series)
{
  free(series->now);
  free(series->is_open);
  free(series->open);
  free(series->entries);
  *series = (struct hwi_page_series){0};
}

/* Moves the open rows to the entries, from index `at` on, where there is space. Returns the new number of entries. */
static size_t close_slice(struct hwi_page_series *series, uint32_t slice, size_t at)
{
  for (uint32_t i = 0; i < series->open_count; i++) {
    uint32_t row = series->open[i];
    struct hwi_page_entry *now = &series->now[row];
    now->row = row;
    now->slice = slice;
    series->entries[at++] = *now;
    *now = (struct hwi_page_entry){0};
    series->is_open[row] = false;
  }
  series->open_count = 0;
  return at;
}

bool hwi_page_series_end_slice(struct hwi_page_series *series, uint32_t slice)
{
  if (!hwi_grow((void **)&series->entries, &series->capacity, series->count + series->open_count,
                sizeof *series->entries))
    return false;
  series->count = close_slice(series, slice, series->count);
  return true;
}

/* Returns the new number of a row or a slice. */
static uint32_t target(const uint32_t *to, uint32_t number)
{
  return to ? to[number] : number;
}

/* Works in place: a merged slice never has more entries than its parts had together. */
void hwi_page_series_merge(struct hwi_page_series *series, const uint32_t *to_row, const uint32_t *to_slice)
{
  size_t kept = 0;
  for (size_t at = 0; at < series->count;) {
    uint32_t slice = target(to_slice, series->entries[at].slice);
    for (; at < series->count && target(to_slice, series->entries[at].slice) == slice; at++) {
      const struct hwi_page_entry *entry = &series->entries[at];
      struct hwi_page_entry *sum = hwi_page_series_now(series, target(to_row, entry->row));
      sum->calls += entry->calls;
      sum->bytes += entry->bytes;
      for (int ending = 0; ending < HWI_ENDINGS; ending++)
        sum->ended[ending] += entry->ended[ending];
      sum->live_bytes += entry->live_bytes;
    }
    kept = close_slice(series, slice, kept);
  }
  series->count = kept;
}

/* --- series --- */

/* The entries of each row, in their order: those of row r are order[start[r]] to order[start[r + 1] - 1]. */
struct by_row {
  uint32_t *order, *start;
};

static bool order_by_row(struct by_row *by, const struct hwi_page_series *series, uint32_t row_count)
{
  by->order = calloc(series->count + 1, sizeof *by->order);
  by->start = calloc((size_t)row_count + 2, sizeof *by->start);
  if (!by->order || !by->start)
    return false;
  uint32_t *next = by->start + 1; /* while filling: next[r] is the index for the next entry of row r */
  for (size_t i = 0; i < series->count; i++)
    next[series->entries[i].row]++;
  uint32_t sum = 0;
  for (uint32_t r = 0; r < row_count; r++) {
    uint32_t entries = next[r];
    next[r] = sum;
    sum += entries;
  }
  for (size_t i = 0; i < series->count; i++)
    by->order[next[series->entries[i].row]++] = (uint32_t)i;
  return true;
}

/* Packs a bit for each way of ending that occurs, and then the number of blocks for each of these. */
static void pack_ended(struct hwi_packed *packed, const struct hwi_page_entry *entry)
{
  uint64_t which = 0;
  for (int ending = 0; ending < HWI_ENDINGS; ending++)
    which |= (uint64_t)(entry->ended[ending] > 0) << ending;
  hwi_packed_add(packed, which);
  for (int ending = 0; ending < HWI_ENDINGS; ending++)
    if (entry->ended[ending] > 0)
      hwi_packed_add(packed, entry->ended[ending]);
}

static void pack_row(struct hwi_packed *packed, const struct hwi_page_series *series, const struct by_row *by,
                     uint32_t row)
{
  uint32_t before = 0;
  hwi_packed_add(packed, by->start[row + 1] - by->start[row]);
  for (uint32_t at = by->start[row]; at < by->start[row + 1]; at++) {
    const struct hwi_page_entry *entry = &series->entries[by->order[at]];
    hwi_packed_add(packed, entry->slice - before);
    hwi_packed_add(packed, entry->calls);
    hwi_packed_add(packed, entry->bytes);
    hwi_packed_add_signed(packed, entry->live_bytes);
    pack_ended(packed, entry);
    before = entry->slice;
  }
}

void hwi_json_page_series(struct hwi_json *json, const struct hwi_page_series *series, uint32_t row_count,
                          const bool *wanted)
{
  struct by_row by = {0};
  struct hwi_packed packed = {0};
  if (!order_by_row(&by, series, row_count))
    json->failed = true;
  for (uint32_t r = 0; r < row_count && by.order && by.start; r++) {
    if (!wanted || wanted[r])
      pack_row(&packed, series, &by, r);
    else
      hwi_packed_add(&packed, 0); /* entries */
  }
  hwi_json_packed(json, "series", &packed);
  free(by.order);
  free(by.start);
}
