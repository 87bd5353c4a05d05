/* dropped_slices.c - what is known along time of events that were dropped, in the slices of a page */
#include "page/slices.h"

static uint64_t min_of(uint64_t a, uint64_t b)
{
  return a < b ? a : b;
}

static uint64_t max_of(uint64_t a, uint64_t b)
{
  return a > b ? a : b;
}

void hwi_page_slices_spread_dropped(struct hwi_page_slices *all, const struct hwi_profile *profile)
{
  struct hwi_slice *slices = all->items;
  for (uint32_t i = 0, to = 0; i < profile->dropped_slice_count; i++) {
    const struct hwi_time_point *from = &profile->dropped_slices[i];
    while (to + 1 < all->count && slices[to + 1].from_ns < from->ns)
      to++;
    const uint64_t allocations = min_of(from->allocation_calls, slices->allocation_calls),
                   frees = min_of(from->free_calls, slices->free_calls),
                   bytes = min_of(from->allocated_bytes, slices->allocated_bytes);
    slices->allocation_calls -= allocations;
    slices->free_calls -= frees;
    slices->allocated_bytes -= bytes;
    slices[to].allocation_calls += allocations;
    slices[to].free_calls += frees;
    slices[to].allocated_bytes += bytes;
  }
}

/* Of a run that is followed, no slice ends at the peak. */
static void level_peak(struct hwi_page_slices *slices, const struct hwi_totals *totals)
{
  struct hwi_slice *peak = &slices->items[slices->peak];
  peak->max_bytes = totals->peak_bytes;
  if (slices->peak + 1 >= slices->count || peak[1].from_ns != totals->peak_time_ns + 1)
    return;
  peak->live_bytes = totals->peak_bytes;
  peak->live_blocks = totals->peak_blocks;
  peak->usable_bytes = totals->peak_usable_bytes;
}

void hwi_page_slices_level_dropped(struct hwi_page_slices *slices, const struct hwi_profile *profile)
{
  const struct hwi_time_point *points = profile->dropped_slices;
  const uint32_t count = profile->dropped_slice_count;
  struct hwi_time_point now = {0};
  for (uint32_t i = 0, next = 0; i < slices->count && next < count; i++) {
    struct hwi_slice *slice = &slices->items[i];
    const uint64_t end_ns = i + 1 < slices->count ? slices->items[i + 1].from_ns : profile->duration_ns;
    slice->min_bytes = now.live_bytes;
    slice->max_bytes = max_of(slice->max_bytes, now.live_bytes); /* that of what lives on is not more */
    for (; next < count && points[next].ns <= end_ns; next++) {
      now = points[next];
      slice->max_bytes = max_of(slice->max_bytes, now.max_bytes);
      slice->min_bytes = min_of(slice->min_bytes, now.live_bytes);
    }
    if (next < count)
      slice->max_bytes = max_of(slice->max_bytes, points[next].max_bytes);
    if (next == count && points[count - 1].ns < end_ns) { /* the cut is within: its end is known */
      slice->min_bytes = min_of(slice->min_bytes, slice->live_bytes);
      break;
    }
    slice->live_bytes = now.live_bytes;
    slice->live_blocks = now.live_blocks;
    slice->usable_bytes = 0; /* not known */
  }
  if (count > 0 && profile->totals.peak_time_ns < points[count - 1].ns)
    level_peak(slices, &profile->totals);
}
