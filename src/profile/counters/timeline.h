/* timeline.h - a span in at most 2,000 equally long slices
 *
 * Slices begin at multiples of their width, which is a power of two. So, for any span, the slices of a coarser grid
 * consist of slices of a finer one. The first and the last slice may be cut by the ends of the span.
 */
#ifndef HWI_PROFILE_COUNTERS_TIMELINE_H
#define HWI_PROFILE_COUNTERS_TIMELINE_H

#include "profile/profile.h"

enum { HWI_TIMELINE_POINTS = 2000 };

/* Invariant: `current` < HWI_TIMELINE_POINTS, points before it are final, and the width only doubles. */
struct hwi_timeline {
  struct hwi_time_point points[HWI_TIMELINE_POINTS];
  uint32_t current;
  uint64_t first; /* the number of the first slice: it begins at first * width_ns, or where the span does */
  uint64_t width_ns;
  uint64_t slice_end_ns; /* of the current slice; a later event belongs to a later slice */
};

/* `expected_ns`: the probable duration of the rest of the run after `start_ns`; 0: unknown. `live_bytes` are live at
 * the start. */
void hwi_timeline_init(struct hwi_timeline *timeline, uint64_t start_ns, uint64_t expected_ns, uint64_t live_bytes);

/* Advances the time to `ns`, which is from slice_end_ns to HWI_TRACE_LATEST_NS; until now `live_bytes` in `live_blocks`
 * were live. */
void hwi_timeline_advance(struct hwi_timeline *timeline, uint64_t ns, uint64_t live_bytes, uint64_t live_blocks);

/* Ends the last slice at the end of the run. Returns the number of points. */
uint32_t hwi_timeline_finish(struct hwi_timeline *timeline, uint64_t end_ns, uint64_t live_bytes, uint64_t live_blocks);

/* Merges slices until there are at most `points` of them, or one. */
void hwi_timeline_coarsen(struct hwi_timeline *timeline, uint32_t points);

/* Appends the slices of `part`, which is finished and began where this timeline now ends; if they are wider, the slices
 * of this one become wider, too. Until its start `live_bytes` in `live_blocks` were live. */
void hwi_timeline_append(struct hwi_timeline *timeline, const struct hwi_timeline *part, uint64_t live_bytes,
                         uint64_t live_blocks);

#endif
