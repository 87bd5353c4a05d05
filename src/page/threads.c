/* threads.c - the threads with their own rows in a document, and all other threads as one row */
#include "page/threads.h"

#include <stdlib.h>

#include "page/share.h"

enum { ROWS_MAX = 64 };

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
  struct hwi_ranked *ranked = calloc((size_t)profile->thread_count + 1, sizeof *ranked);
  if (!ranked)
    return false;
  for (uint32_t i = 0; i < profile->thread_count; i++)
    ranked[i] = (struct hwi_ranked){share_of(&profile->threads[i], &profile->totals), i};
  hwi_rank(ranked, profile->thread_count);
  for (uint32_t i = 0; i < profile->thread_count; i++)
    threads->row_of[ranked[i].index] = i < ROWS_MAX ? 0 : UINT32_MAX;
  free(ranked);
  return true;
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
  hwi_json_page_series(json, series, threads->row_count, NULL);
  hwi_json_end_object(json);
}
