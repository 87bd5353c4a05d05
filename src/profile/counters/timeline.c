/* timeline.c - a span in at most 2,000 equally long slices
 *
 * The first width of the slices is computed from the expected duration. If the span takes longer, pairs of slices are
 * merged, as often as needed: those with the numbers 2n and 2n + 1, so that the first and the last slice may be alone
 * in their pairs.
 */
#include "profile/counters/timeline.h"

static void begin_slice(struct hwi_timeline *t, uint64_t live_bytes)
{
  t->points[t->current] = (struct hwi_time_point){.max_bytes = live_bytes};
  t->slice_end_ns = (t->first + t->current + 1) * t->width_ns;
}

void hwi_timeline_init(struct hwi_timeline *t, uint64_t start_ns, uint64_t expected_ns, uint64_t live_bytes)
{
  const uint64_t end_ns = start_ns + (expected_ns < HWI_TRACE_LATEST_NS ? expected_ns : HWI_TRACE_LATEST_NS);
  t->current = 0;
  t->width_ns = 1;
  while (end_ns / t->width_ns - start_ns / t->width_ns >= HWI_TIMELINE_POINTS)
    t->width_ns *= 2;
  t->first = start_ns / t->width_ns;
  begin_slice(t, live_bytes);
}

static void end_slice(struct hwi_timeline *t, uint64_t live_bytes, uint64_t live_blocks)
{
  struct hwi_time_point *point = &t->points[t->current];
  point->ns = t->slice_end_ns;
  point->live_bytes = live_bytes;
  point->live_blocks = live_blocks;
}

static void add_counts(struct hwi_time_point *to, const struct hwi_time_point *point)
{
  if (point->max_bytes > to->max_bytes)
    to->max_bytes = point->max_bytes;
  to->allocation_calls += point->allocation_calls;
  to->free_calls += point->free_calls;
  to->allocated_bytes += point->allocated_bytes;
}

/* The last slice becomes the current one again; the wider slice may not be over yet. */
static void fold(struct hwi_timeline *t)
{
  const uint64_t first = t->first / 2;
  uint32_t kept = 0;
  for (uint32_t i = 1; i <= t->current; i++) {
    struct hwi_time_point point = t->points[i];
    uint32_t to = (uint32_t)((t->first + i) / 2 - first);
    if (to == kept)
      add_counts(&point, &t->points[to]);
    t->points[to] = point;
    kept = to;
  }
  t->first = first;
  t->width_ns *= 2;
  t->current = kept;
  t->slice_end_ns = (first + kept + 1) * t->width_ns;
}

void hwi_timeline_advance(struct hwi_timeline *t, uint64_t ns, uint64_t live_bytes, uint64_t live_blocks)
{
  while (ns >= t->slice_end_ns) {
    end_slice(t, live_bytes, live_blocks);
    if (t->current + 1 == HWI_TIMELINE_POINTS) {
      fold(t);
    } else {
      t->current++;
      begin_slice(t, live_bytes);
    }
  }
}

uint32_t hwi_timeline_finish(struct hwi_timeline *t, uint64_t end_ns, uint64_t live_bytes, uint64_t live_blocks)
{
  if (end_ns > t->slice_end_ns)
    hwi_timeline_advance(t, end_ns - 1, live_bytes, live_blocks);
  end_slice(t, live_bytes, live_blocks);
  return t->current + 1;
}

void hwi_timeline_coarsen(struct hwi_timeline *t, uint32_t points)
{
  while (t->current >= points && t->current > 0) {
    fold(t);
    t->points[t->current].ns = t->slice_end_ns;
  }
}

void hwi_timeline_append(struct hwi_timeline *t, const struct hwi_timeline *part, uint64_t live_bytes,
                         uint64_t live_blocks)
{
  while (t->width_ns < part->width_ns)
    fold(t);
  for (uint32_t i = 0; i <= part->current; i++) {
    const struct hwi_time_point *point = &part->points[i];
    uint64_t start_ns = (part->first + i) * part->width_ns;
    if (start_ns >= t->slice_end_ns)
      hwi_timeline_advance(t, start_ns, live_bytes, live_blocks);
    add_counts(&t->points[t->current], point);
    live_bytes = point->live_bytes;
    live_blocks = point->live_blocks;
  }
}
