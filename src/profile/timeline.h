/* timeline.h - the run in at most 2,000 equally long slices */
#ifndef HWI_PROFILE_TIMELINE_H
#define HWI_PROFILE_TIMELINE_H

#include "profile/profile.h"

enum { HWI_TIMELINE_POINTS = 2000 };

/* Invariant: `current` < HWI_TIMELINE_POINTS, points before it are final, and the width only doubles. */
struct hwi_timeline {
  struct hwi_time_point points[HWI_TIMELINE_POINTS];
  uint32_t current;
  uint64_t start_ns; /* of the first slice */
  uint64_t width_ns;
  uint64_t slice_end_ns; /* of the current slice; a later event belongs to another */
};

/* `expected_ns`: how long what follows `start_ns` probably takes; 0: unknown. `live_bytes` are live at the start. */
void hwi_timeline_init(struct hwi_timeline *timeline, uint64_t start_ns, uint64_t expected_ns, uint64_t live_bytes);

/* Time has come to `ns`, from slice_end_ns to HWI_TRACE_LATEST_NS; until now `live_bytes` in `live_blocks` were live. */
void hwi_timeline_advance(struct hwi_timeline *timeline, uint64_t ns, uint64_t live_bytes, uint64_t live_blocks);

/* Ends the last slice at the end of the run. Returns the number of points. */
uint32_t hwi_timeline_finish(struct hwi_timeline *timeline, uint64_t end_ns, uint64_t live_bytes, uint64_t live_blocks);

#endif
