/* slices.c - the run in slices of time */
#include "page/slices.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "report/content/marks.h"
#include "report/input/moment.h"

/* --- edges --- */

static int compare_slices(const void *left, const void *right)
{
  const struct hwi_page_slice *a = left, *b = right;
  return a->from_ns < b->from_ns ? -1 : a->from_ns > b->from_ns;
}

static void add_edge(struct hwi_page_slices *slices, const struct hwi_profile *profile, uint64_t ns, bool pinned)
{
  if (ns <= profile->duration_ns && slices->count < HWI_PAGE_SLICES_MAX)
    slices->items[slices->count++] = (struct hwi_page_slice){.from_ns = ns, .pinned = pinned};
}

/* Returns false if there is no memory. */
static bool add_marks(struct hwi_page_slices *slices, const struct hwi_profile *profile)
{
  uint32_t count;
  struct hwi_program_mark *marks = hwi_marks_of(profile, &count);
  for (uint32_t i = 0; i < count && i < HWI_PAGE_MARK_EDGES; i++)
    add_edge(slices, profile, marks[i].ns, true);
  const bool done = marks;
  free(marks);
  return done;
}

bool hwi_page_slices_init(struct hwi_page_slices *slices, const struct hwi_profile *profile)
{
  memset(slices, 0, sizeof *slices);
  uint64_t width_ns = profile->duration_ns / HWI_PAGE_SLICES + 1;
  for (uint32_t i = 0; i < HWI_PAGE_SLICES; i++)
    add_edge(slices, profile, i * width_ns, false);
  add_edge(slices, profile, profile->totals.peak_time_ns + 1, true);
  if (!add_marks(slices, profile))
    return false;
  qsort(slices->items, slices->count, sizeof *slices->items, compare_slices);
  uint32_t kept = 1;
  for (uint32_t i = 1; i < slices->count; i++) {
    if (slices->items[i].from_ns != slices->items[kept - 1].from_ns)
      slices->items[kept++] = slices->items[i];
    slices->items[kept - 1].pinned |= slices->items[i].pinned;
  }
  slices->count = kept;
  while (slices->peak + 1 < kept && slices->items[slices->peak + 1].from_ns <= profile->totals.peak_time_ns)
    slices->peak++;
  return true;
}

void hwi_page_slices_take(struct hwi_page_slices *slices, const struct hwi_profile *profile)
{
  static_assert((int)HWI_HISTORY_SLICES <= (int)HWI_PAGE_SLICES_MAX, "there is room for all slices");
  memset(slices, 0, sizeof *slices);
  slices->count = profile->history_count;
  for (uint32_t i = 0; i < slices->count; i++) {
    const struct hwi_history_slice *from = &profile->history[i];
    slices->items[i] = (struct hwi_page_slice){.from_ns = from->from_ns,
                                               .allocation_calls = from->allocation_calls,
                                               .free_calls = from->free_calls,
                                               .failed_calls = from->failed_calls,
                                               .temporary_calls = from->temporary_calls,
                                               .allocated_bytes = from->allocated_bytes,
                                               .live_bytes = from->live_bytes,
                                               .live_blocks = from->live_blocks,
                                               .usable_bytes = from->usable_bytes,
                                               .min_bytes = from->min_bytes,
                                               .max_bytes = from->max_bytes};
  }
  while (slices->peak + 1 < slices->count && slices->items[slices->peak + 1].from_ns <= profile->totals.peak_time_ns)
    slices->peak++;
}

/* --- fewer --- */

static void add_slice(struct hwi_page_slice *sum, const struct hwi_page_slice *next)
{
  sum->allocation_calls += next->allocation_calls;
  sum->free_calls += next->free_calls;
  sum->failed_calls += next->failed_calls;
  sum->temporary_calls += next->temporary_calls;
  sum->allocated_bytes += next->allocated_bytes;
  sum->live_bytes = next->live_bytes;
  sum->live_blocks = next->live_blocks;
  sum->usable_bytes = next->usable_bytes;
  sum->min_bytes = next->min_bytes < sum->min_bytes ? next->min_bytes : sum->min_bytes;
  sum->max_bytes = next->max_bytes > sum->max_bytes ? next->max_bytes : sum->max_bytes;
}

void hwi_page_slices_join(struct hwi_page_slices *slices, uint32_t to[HWI_PAGE_SLICES_MAX])
{
  uint32_t kept = 0;
  bool is_full = true; /* whether the last kept slice cannot take another one */
  for (uint32_t i = 0; i < slices->count; i++) {
    const struct hwi_page_slice next = slices->items[i];
    bool is_kept = is_full || next.pinned;
    if (is_kept)
      slices->items[kept++] = next;
    else
      add_slice(&slices->items[kept - 1], &next);
    is_full = !is_kept;
    to[i] = kept - 1;
  }
  slices->count = kept;
  slices->peak = to[slices->peak];
}

/* --- JSON --- */

void hwi_json_page_slices(struct hwi_json *json, const struct hwi_page_slices *slices)
{
  static const struct hwi_column columns[] = {
      HWI_COLUMN(struct hwi_page_slice, from_ns),         HWI_COLUMN(struct hwi_page_slice, allocation_calls),
      HWI_COLUMN(struct hwi_page_slice, free_calls),      HWI_COLUMN(struct hwi_page_slice, failed_calls),
      HWI_COLUMN(struct hwi_page_slice, temporary_calls), HWI_COLUMN(struct hwi_page_slice, allocated_bytes),
      HWI_COLUMN(struct hwi_page_slice, live_bytes),      HWI_COLUMN(struct hwi_page_slice, live_blocks),
      HWI_COLUMN(struct hwi_page_slice, usable_bytes),    HWI_COLUMN(struct hwi_page_slice, min_bytes),
      HWI_COLUMN(struct hwi_page_slice, max_bytes),       {NULL, 0},
  };
  const struct hwi_table_rows rows = {slices->items, slices->count, sizeof *slices->items};
  hwi_json_number(json, "peak_slice", slices->peak);
  hwi_json_plain_columns(json, &rows, columns);
}
