/* base_sums.h - adds the sums of dropped events to the counters */
#ifndef HWI_PROFILE_COUNTERS_BASE_SUMS_H
#define HWI_PROFILE_COUNTERS_BASE_SUMS_H

#include "profile/counters/count_events.h"

/* Adds the calls, but not the peak. */
void hwi_base_add_to_totals(const struct hwi_base *base, struct hwi_totals *totals);

/* Gives the stacks and threads of the sums their numbers, so that every replay of the run has the same ones. To be called
 * before any event of the image is resolved. Returns false if there is no memory, or if image->error says why not. */
bool hwi_base_know(const struct hwi_base *base, struct hwi_replay *replay, struct hwi_replay_image *image);

/* Adds the sums of the image's trace to all counters, after hwi_base_know and before any of its events is counted; all resolved events of other
 * images have been counted. `is_alone`: no other image is counted, so that the peak of what was dropped is one of the run.
 * Returns likewise. */
bool hwi_base_add(const struct hwi_base *base, struct hwi_replay *replay, struct hwi_replay_image *image,
                  bool is_alone);

/* Adds what is known along time to the points of a finished timeline, of a run with one image that began with it. */
void hwi_base_add_to_timeline(const struct hwi_trace *trace, struct hwi_time_point *points, uint32_t count);

#endif
