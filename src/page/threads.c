/* threads.c - the threads with their own rows in a document, and the figures of each in the rows of another table */
#include "page/threads.h"

#include <stdlib.h>
#include <string.h>

#include "page/largest_share.h"
#include "profile/blocks/sample.h"
#include "report/selection/selection.h"
#include "trace/radix_sort.h"

enum { ROWS_MAX = 64 };
enum { ROW_SHIFT = 32 }; /* the key of a pair has the row in the upper half, the thread in the lower half */

/* --- rows --- */

static double share_of(const struct hwi_profile_thread *thread, const struct hwi_totals *totals)
{
  double share = hwi_larger_share(0, thread->allocation_calls, totals->allocation_calls);
  share = hwi_larger_share(share, thread->allocated_bytes, totals->allocated_bytes);
  share = hwi_larger_share(share, thread->free_calls, totals->free_calls);
  share = hwi_larger_share(share, thread->live_bytes, totals->live_bytes_at_end);
  return hwi_larger_share(share, thread->own_peak_bytes, totals->peak_bytes);
}

/* Marks the threads that get their own row in row_of. Returns false if there is no memory. */
static bool choose(struct hwi_page_threads *threads)
{
  const struct hwi_profile *profile = threads->profile;
  struct hwi_sort_item *ranked = calloc((size_t)profile->thread_count + 1, sizeof *ranked);
  for (uint32_t i = 0; i < profile->thread_count && ranked; i++)
    ranked[i] =
        (struct hwi_sort_item){.key = hwi_share_key(share_of(&profile->threads[i], &profile->totals)), .item = i};
  bool done = ranked && hwi_radix_sort(ranked, profile->thread_count);
  for (uint32_t i = 0; i < profile->thread_count && done; i++)
    threads->row_of[ranked[i].item] = i < ROWS_MAX ? 0 : UINT32_MAX;
  free(ranked);
  return done;
}

static void add_thread(struct hwi_page_thread *row, const struct hwi_profile_thread *thread)
{
  row->allocation_calls += thread->allocation_calls;
  row->free_calls += thread->free_calls;
  row->failed_calls += thread->failed_calls;
  row->temporary_calls += thread->temporary_calls;
  row->allocated_bytes += thread->allocated_bytes;
  row->live_bytes += thread->live_bytes;
  row->live_blocks += thread->live_blocks;
  row->peak_bytes += thread->peak_bytes;
  row->own_peak_bytes = thread->own_peak_bytes > row->own_peak_bytes ? thread->own_peak_bytes : row->own_peak_bytes;
  row->foreign_frees += thread->foreign_frees;
  row->late_allocation_calls += thread->late_allocation_calls;
  row->late_free_calls += thread->late_free_calls;
}

static void fill_rows(struct hwi_page_threads *threads)
{
  const struct hwi_profile *profile = threads->profile;
  uint32_t rest = profile->thread_count < ROWS_MAX ? profile->thread_count : ROWS_MAX; /* the row of all other
                                                                                        * threads */
  for (uint32_t i = 0; i < profile->thread_count; i++) {
    const struct hwi_profile_thread *thread = &profile->threads[i];
    bool is_cut = threads->row_of[i] == UINT32_MAX;
    uint32_t row = is_cut ? rest : threads->row_count++;
    threads->row_of[i] = row;
    threads->threads[row] = is_cut ? UINT32_MAX : i;
    add_thread(&threads->rows[row], thread);
    threads->rows[row].cut += is_cut;
    if (is_cut)
      continue;
    threads->rows[row].tid = thread->tid;
    threads->rows[row].policy = thread->policy;
    threads->rows[row].priority = thread->priority;
    threads->rows[row].pid = thread->image < profile->image_count ? profile->images[thread->image].info->header.pid : 0;
  }
  threads->row_count += profile->thread_count > ROWS_MAX;
}

bool hwi_page_threads_init(struct hwi_page_threads *threads, const struct hwi_profile *profile)
{
  *threads = (struct hwi_page_threads){.profile = profile};
  threads->rows = calloc(ROWS_MAX + 1, sizeof *threads->rows);
  threads->threads = calloc(ROWS_MAX + 1, sizeof *threads->threads);
  threads->row_of = calloc((size_t)profile->thread_count + 1, sizeof *threads->row_of);
  if (!threads->rows || !threads->threads || !threads->row_of || !choose(threads))
    return false;
  fill_rows(threads);
  return true;
}

void hwi_page_threads_release(struct hwi_page_threads *threads)
{
  free(threads->rows);
  free(threads->threads);
  free(threads->row_of);
  *threads = (struct hwi_page_threads){0};
}

/* --- pairs --- */

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

/* --- the amounts of pairs --- */

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

static void write_names(struct hwi_json *json, const struct hwi_page_threads *threads)
{
  hwi_json_begin_array(json, "name");
  for (uint32_t i = 0; i < threads->row_count; i++) {
    uint32_t thread = threads->threads[i];
    hwi_json_text(json, NULL, thread != UINT32_MAX ? threads->profile->threads[thread].name : "");
  }
  hwi_json_end_array(json);
}

static void set_errors(const struct hwi_page_threads *threads)
{
  const struct hwi_profile *profile = threads->profile;
  for (uint32_t i = 0; i < profile->cell_count; i++) {
    const struct hwi_profile_cell *cell = &profile->cells[i];
    hwi_variance_add_cell(&threads->rows[threads->row_of[cell->thread]].variance, profile, cell);
  }
  for (uint32_t i = 0; i < threads->row_count; i++) {
    struct hwi_page_thread *row = &threads->rows[i];
    row->calls_error = hwi_sample_error(row->variance.calls);
    row->bytes_error = hwi_sample_error(row->variance.bytes);
    row->temporary_calls_error = hwi_sample_error(row->variance.temporary_calls);
    row->live_bytes_error = hwi_sample_error(row->variance.live_bytes);
    row->live_blocks_error = hwi_sample_error(row->variance.live_blocks);
    row->peak_bytes_error = hwi_sample_error(row->variance.peak_bytes);
    row->variance = (struct hwi_variance){0}; /* a document may be written again */
  }
}

static void write_errors(struct hwi_json *json, const struct hwi_page_threads *threads,
                         const struct hwi_table_rows *rows)
{
  static const struct hwi_column errors[] = {
      HWI_COLUMN(struct hwi_page_thread, calls_error),
      HWI_COLUMN(struct hwi_page_thread, bytes_error),
      HWI_COLUMN(struct hwi_page_thread, temporary_calls_error),
      HWI_COLUMN(struct hwi_page_thread, live_bytes_error),
      HWI_COLUMN(struct hwi_page_thread, live_blocks_error),
      HWI_COLUMN(struct hwi_page_thread, peak_bytes_error),
      {NULL, 0},
  };
  set_errors(threads);
  hwi_json_plain_columns(json, rows, errors);
}

void hwi_json_page_threads(struct hwi_json *json, const struct hwi_page_threads *threads,
                           const struct hwi_page_series *series)
{
  static const struct hwi_column columns[] = {
      HWI_COLUMN(struct hwi_page_thread, tid),
      HWI_COLUMN(struct hwi_page_thread, pid),
      HWI_COLUMN(struct hwi_page_thread, policy),
      HWI_COLUMN(struct hwi_page_thread, priority),
      HWI_COLUMN(struct hwi_page_thread, allocation_calls),
      HWI_COLUMN(struct hwi_page_thread, free_calls),
      HWI_COLUMN(struct hwi_page_thread, failed_calls),
      HWI_COLUMN(struct hwi_page_thread, temporary_calls),
      HWI_COLUMN(struct hwi_page_thread, allocated_bytes),
      HWI_COLUMN(struct hwi_page_thread, live_bytes),
      HWI_COLUMN(struct hwi_page_thread, live_blocks),
      HWI_COLUMN(struct hwi_page_thread, peak_bytes),
      HWI_COLUMN(struct hwi_page_thread, own_peak_bytes),
      HWI_COLUMN(struct hwi_page_thread, foreign_frees),
      HWI_COLUMN(struct hwi_page_thread, late_allocation_calls),
      HWI_COLUMN(struct hwi_page_thread, late_free_calls),
      HWI_COLUMN(struct hwi_page_thread, cut),
      {NULL, 0},
  };
  const struct hwi_table_rows rows = {threads->rows, threads->row_count, sizeof *threads->rows};
  hwi_json_begin_object(json, "threads");
  write_names(json, threads);
  hwi_json_plain_columns(json, &rows, columns);
  if (threads->profile->sample_bytes)
    write_errors(json, threads, &rows);
  hwi_json_page_series(json, series, threads->row_count, NULL);
  hwi_json_end_object(json);
}

/* Writes the rows as differences, which are short. */
static void write_pair_rows(struct hwi_json *json, const struct hwi_page_pairs *pairs)
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

static void write_pair_series(struct hwi_json *json, const struct hwi_page_pairs *pairs,
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
  write_pair_rows(json, pairs);
  hwi_json_packed_columns(json, &rows, columns);
  hwi_json_packed_lifetimes(json, &rows, offsetof(struct hwi_page_pair, lifetimes));
  write_pair_series(json, pairs, series);
  hwi_json_end_object(json);
}

void hwi_json_page_size_threads(struct hwi_json *json, const struct hwi_page_pairs *pairs,
                                const struct hwi_page_series *series)
{
  static const struct hwi_column columns[] = {HWI_COLUMN(struct hwi_page_pair, thread), {NULL, 0}};
  const struct hwi_table_rows rows = {pairs->items, pairs->count, sizeof *pairs->items};
  hwi_json_begin_object(json, "size_threads");
  write_pair_rows(json, pairs);
  hwi_json_packed_columns(json, &rows, columns);
  write_pair_series(json, pairs, series);
  hwi_json_end_object(json);
}
