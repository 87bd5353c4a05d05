/* pairs.c - the figures of each thread in each row of a table */
#include "page/pairs.h"

#include <stdlib.h>
#include <string.h>

#include "report/selection/figures.h"
#include "report/selection/selection.h"

enum { ROW_SHIFT = 32 }; /* a key has the row in the upper half, the thread in the lower half */

/* --- the pairs --- */

static uint64_t key_of(const struct hwi_page_places *places, const struct hwi_profile_cell *cell)
{
  return (uint64_t)places->row_of(places->context, cell) << ROW_SHIFT | places->thread_rows[cell->thread];
}

static int compare_keys(const void *left, const void *right)
{
  uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return a < b ? -1 : a > b;
}

/* Collects the keys in ascending order, each once. Returns how many. */
static uint32_t collect_keys(uint64_t *keys, const struct hwi_profile *profile, const struct hwi_page_places *places)
{
  uint32_t kept = 0;
  for (uint32_t i = 0; i < profile->cell_count; i++)
    keys[i] = key_of(places, &profile->cells[i]);
  if (profile->cell_count > 1)
    qsort(keys, profile->cell_count, sizeof *keys, compare_keys);
  for (uint32_t i = 0; i < profile->cell_count; i++)
    if (kept == 0 || keys[kept - 1] != keys[i])
      keys[kept++] = keys[i];
  return kept;
}

static void number_pairs(struct hwi_page_pairs *pairs, const uint64_t *keys)
{
  uint32_t at = 0;
  for (uint32_t row = 0; row < pairs->row_count; row++) {
    pairs->start[row] = at;
    for (; at < pairs->count && keys[at] >> ROW_SHIFT == row; at++)
      pairs->items[at] = (struct hwi_page_pair){.row = row, .thread = (uint32_t)keys[at]};
  }
  pairs->start[pairs->row_count] = at;
}

/* --- the amounts --- */

static void add_cell(struct hwi_page_pair *pair, const struct hwi_amount *amount, bool is_runtime)
{
  pair->calls += amount->calls;
  pair->bytes += amount->bytes;
  pair->temporary_calls += amount->temporary_calls;
  pair->live_bytes += amount->live_bytes;
  pair->live_blocks += amount->live_blocks;
  pair->peak_bytes += amount->peak_bytes;
  pair->peak_blocks += amount->peak_blocks;
  pair->runtime_live_bytes += is_runtime ? amount->live_bytes : 0;
  pair->runtime_live_blocks += is_runtime ? amount->live_blocks : 0;
  pair->lifetimes[HWI_LIFETIME_UNTIL_END] += amount->live_blocks;
}

static void add_cells(struct hwi_page_pairs *pairs, const struct hwi_profile *profile,
                      const struct hwi_page_places *places)
{
  for (uint32_t i = 0; i < profile->cell_count; i++) {
    const struct hwi_profile_cell *cell = &profile->cells[i];
    const struct hwi_amount amount = hwi_amount_of_cell(profile, cell);
    uint32_t pair =
        hwi_page_pairs_find(pairs, places->row_of(places->context, cell), places->thread_rows[cell->thread]);
    add_cell(&pairs->items[pair], &amount, places->is_runtime[cell->stack]);
  }
}

bool hwi_page_pairs_init(struct hwi_page_pairs *pairs, const struct hwi_profile *profile,
                         const struct hwi_page_places *places, uint32_t row_count)
{
  *pairs = (struct hwi_page_pairs){.row_count = row_count};
  uint64_t *keys = calloc((size_t)profile->cell_count + 1, sizeof *keys);
  pairs->start = calloc((size_t)row_count + 1, sizeof *pairs->start);
  if (keys) {
    pairs->count = collect_keys(keys, profile, places);
    pairs->items = calloc((size_t)pairs->count + 1, sizeof *pairs->items);
  }
  bool done = pairs->items && pairs->start;
  if (done) {
    number_pairs(pairs, keys);
    add_cells(pairs, profile, places);
  }
  free(keys);
  return done;
}

void hwi_page_pairs_release(struct hwi_page_pairs *pairs)
{
  free(pairs->items);
  free(pairs->start);
  *pairs = (struct hwi_page_pairs){0};
}

/* --- JSON --- */

static void write_lifetimes(struct hwi_json *json, const struct hwi_table_rows *rows)
{
  struct hwi_column columns[HWI_LIFETIMES + 1] = {0};
  for (int i = 0; i < HWI_LIFETIMES; i++)
    columns[i] = (struct hwi_column){hwi_lifetime_keys[i],
                                     offsetof(struct hwi_page_pair, lifetimes) + (size_t)i * sizeof(uint64_t)};
  hwi_json_begin_object(json, "lifetimes");
  hwi_json_packed_columns(json, rows, columns);
  hwi_json_end_object(json);
}

/* Writes the rows as differences, which are short. */
static void write_rows(struct hwi_json *json, const struct hwi_page_pairs *pairs)
{
  struct hwi_packed packed = {0};
  for (uint32_t i = 0; i < pairs->count; i++)
    hwi_packed_add(&packed, pairs->items[i].row - (i > 0 ? pairs->items[i - 1].row : 0));
  hwi_json_number(json, "count", pairs->count);
  hwi_json_packed(json, "row", &packed);
}

static bool is_shared(const struct hwi_page_pairs *pairs, uint32_t pair)
{
  uint64_t row = pairs->items[pair].row;
  return pairs->start[row + 1] - pairs->start[row] > 1;
}

static void write_series(struct hwi_json *json, const struct hwi_page_pairs *pairs,
                         const struct hwi_page_series *series)
{
  bool *wanted = calloc((size_t)pairs->count + 1, sizeof *wanted);
  json->failed |= !wanted;
  for (uint32_t i = 0; i < pairs->count && wanted; i++)
    wanted[i] = is_shared(pairs, i);
  if (wanted)
    hwi_json_page_series(json, series, pairs->count, wanted);
  free(wanted);
}

/* Sums up the lifetimes of ended blocks from the slices. */
static void sum_lifetimes(struct hwi_page_pairs *pairs, const struct hwi_page_series *series)
{
  for (uint32_t i = 0; i < pairs->count; i++)
    memset(pairs->items[i].lifetimes, 0, HWI_LIFETIMES_ENDED * sizeof *pairs->items[i].lifetimes);
  for (size_t i = 0; i < series->count; i++) {
    const struct hwi_page_entry *entry = &series->entries[i];
    for (int lifetime = 0; lifetime < HWI_LIFETIMES_ENDED; lifetime++)
      pairs->items[entry->row].lifetimes[lifetime] += entry->ended[lifetime];
  }
}

void hwi_json_page_stack_threads(struct hwi_json *json, struct hwi_page_pairs *pairs,
                                 const struct hwi_page_series *series)
{
  static const struct hwi_column columns[] = {
      HWI_COLUMN(struct hwi_page_pair, thread),
      HWI_COLUMN(struct hwi_page_pair, calls),
      HWI_COLUMN(struct hwi_page_pair, bytes),
      HWI_COLUMN(struct hwi_page_pair, temporary_calls),
      HWI_COLUMN(struct hwi_page_pair, live_bytes),
      HWI_COLUMN(struct hwi_page_pair, live_blocks),
      HWI_COLUMN(struct hwi_page_pair, peak_bytes),
      HWI_COLUMN(struct hwi_page_pair, peak_blocks),
      HWI_COLUMN(struct hwi_page_pair, runtime_live_bytes),
      HWI_COLUMN(struct hwi_page_pair, runtime_live_blocks),
      {NULL, 0},
  };
  const struct hwi_table_rows rows = {pairs->items, pairs->count, sizeof *pairs->items};
  sum_lifetimes(pairs, series);
  hwi_json_begin_object(json, "stack_threads");
  write_rows(json, pairs);
  hwi_json_packed_columns(json, &rows, columns);
  write_lifetimes(json, &rows);
  write_series(json, pairs, series);
  hwi_json_end_object(json);
}

void hwi_json_page_size_threads(struct hwi_json *json, const struct hwi_page_pairs *pairs,
                                const struct hwi_page_series *series)
{
  static const struct hwi_column columns[] = {HWI_COLUMN(struct hwi_page_pair, thread), {NULL, 0}};
  const struct hwi_table_rows rows = {pairs->items, pairs->count, sizeof *pairs->items};
  hwi_json_begin_object(json, "size_threads");
  write_rows(json, pairs);
  hwi_json_packed_columns(json, &rows, columns);
  write_series(json, pairs, series);
  hwi_json_end_object(json);
}
