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
  const struct hwi_slice *a = left, *b = right;
  return a->from_ns < b->from_ns ? -1 : a->from_ns > b->from_ns;
}

static void add_edge(struct hwi_page_slices *slices, const struct hwi_profile *profile, uint64_t ns, bool pinned)
{
  if (ns <= profile->duration_ns && slices->count < HWI_PAGE_SLICES_MAX)
    slices->items[slices->count++] = (struct hwi_slice){.from_ns = ns, .pinned = pinned};
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

static void find_peak(struct hwi_page_slices *slices, const struct hwi_profile *profile)
{
  while (slices->peak + 1 < slices->count && slices->items[slices->peak + 1].from_ns <= profile->totals.peak_time_ns)
    slices->peak++;
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
  find_peak(slices, profile);
  return true;
}

void hwi_page_slices_take(struct hwi_page_slices *slices, const struct hwi_profile *profile)
{
  static_assert((int)HWI_HISTORY_SLICES <= (int)HWI_PAGE_SLICES_MAX, "there is room for all slices");
  memset(slices, 0, sizeof *slices);
  slices->count = profile->history_count;
  for (uint32_t i = 0; i < slices->count; i++)
    slices->items[i] = profile->history[i].slice;
  find_peak(slices, profile);
}

/* --- fewer --- */

void hwi_page_slices_join(struct hwi_page_slices *slices, uint32_t to[HWI_PAGE_SLICES_MAX])
{
  uint32_t kept = 0;
  bool is_full = true; /* whether the last kept slice cannot take another one */
  for (uint32_t i = 0; i < slices->count; i++) {
    const struct hwi_slice next = slices->items[i];
    bool is_kept = is_full || next.pinned;
    if (is_kept)
      slices->items[kept++] = next;
    else
      hwi_slice_join(&slices->items[kept - 1], &next);
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
      HWI_COLUMN(struct hwi_slice, from_ns),         HWI_COLUMN(struct hwi_slice, allocation_calls),
      HWI_COLUMN(struct hwi_slice, free_calls),      HWI_COLUMN(struct hwi_slice, failed_calls),
      HWI_COLUMN(struct hwi_slice, temporary_calls), HWI_COLUMN(struct hwi_slice, allocated_bytes),
      HWI_COLUMN(struct hwi_slice, live_bytes),      HWI_COLUMN(struct hwi_slice, live_blocks),
      HWI_COLUMN(struct hwi_slice, usable_bytes),    HWI_COLUMN(struct hwi_slice, min_bytes),
      HWI_COLUMN(struct hwi_slice, max_bytes),       {NULL, 0},
  };
  const struct hwi_table_rows rows = {slices->items, slices->count, sizeof *slices->items};
  hwi_json_number(json, "peak_slice", slices->peak);
  hwi_json_plain_columns(json, &rows, columns);
}
