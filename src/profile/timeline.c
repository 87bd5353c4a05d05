/* timeline.c - the run in at most 2,000 equally long slices
 *
 * Slices begin with the width that the expected length gives. When the run turns out to be longer, two slices become one, as
 * often as needed.
 */
#include "profile/timeline.h"

static void begin_slice(struct hwi_timeline *t, uint64_t live_bytes)
{
  t->points[t->current] = (struct hwi_time_point){.max_bytes = live_bytes};
  t->slice_end_ns = t->start_ns + (t->current + 1) * t->width_ns;
}

void hwi_timeline_init(struct hwi_timeline *t, uint64_t start_ns, uint64_t expected_ns, uint64_t live_bytes)
{
  t->current = 0;
  t->start_ns = start_ns;
  t->width_ns = expected_ns / HWI_TIMELINE_POINTS + 1;
  begin_slice(t, live_bytes);
}

static void end_slice(struct hwi_timeline *t, uint64_t live_bytes, uint64_t live_blocks)
{
  struct hwi_time_point *point = &t->points[t->current];
  point->ns = t->slice_end_ns;
  point->live_bytes = live_bytes;
  point->live_blocks = live_blocks;
}

/* All slices are full and final. */
static void fold(struct hwi_timeline *t)
{
  for (uint32_t i = 0; i < HWI_TIMELINE_POINTS / 2; i++) {
    const struct hwi_time_point *first = &t->points[2 * i];
    struct hwi_time_point point = t->points[2 * i + 1];
    if (first->max_bytes > point.max_bytes)
      point.max_bytes = first->max_bytes;
    point.allocation_calls += first->allocation_calls;
    point.free_calls += first->free_calls;
    point.allocated_bytes += first->allocated_bytes;
    t->points[i] = point;
  }
  t->width_ns *= 2;
  t->current = HWI_TIMELINE_POINTS / 2 - 1;
}

void hwi_timeline_advance(struct hwi_timeline *t, uint64_t ns, uint64_t live_bytes, uint64_t live_blocks)
{
  while (ns >= t->slice_end_ns) {
    end_slice(t, live_bytes, live_blocks);
    if (t->current + 1 == HWI_TIMELINE_POINTS)
      fold(t);
    t->current++;
    begin_slice(t, live_bytes);
  }
}

uint32_t hwi_timeline_finish(struct hwi_timeline *t, uint64_t end_ns, uint64_t live_bytes, uint64_t live_blocks)
{
  if (end_ns > t->slice_end_ns)
    hwi_timeline_advance(t, end_ns - 1, live_bytes, live_blocks);
  end_slice(t, live_bytes, live_blocks);
  return t->current + 1;
}
