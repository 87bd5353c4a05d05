/* class_timeline.h - live bytes by classes of block sizes, over the time of the run
 *
 * class      sizes up to a power of two and above the one before it; the first class holds all sizes up to 16 bytes.
 * There are at most 200 moments: multiples of a number of nanoseconds that is a power of two, so that the moments of a
 * coarser grid are also moments of a finer one; and the end. The live blocks of each size are counted anyway: a moment
 * costs one pass over all sizes, an event costs nothing.
 */
#ifndef HWI_PROFILE_COUNTERS_CLASS_TIMELINE_H
#define HWI_PROFILE_COUNTERS_CLASS_TIMELINE_H

#include "profile/counters/tally.h"
#include "profile/profile.h"

/* Invariant: `count` < HWI_CLASS_POINTS between calls, and the width only doubles. */
struct hwi_class_timeline {
  struct hwi_class_point points[HWI_CLASS_POINTS];
  uint32_t count;
  uint64_t width_ns;
  uint64_t next_ns; /* the next moment */
};

/* As hwi_timeline_init. The first moment is after `start_ns`. */
void hwi_class_timeline_init(struct hwi_class_timeline *timeline, uint64_t start_ns, uint64_t expected_ns);

/* Advances the time to `ns`, which is not before next_ns; the tally has the blocks that were live until now. */
void hwi_class_timeline_advance(struct hwi_class_timeline *timeline, uint64_t ns, const struct hwi_tally *tally);

/* Adds the end of the run. Returns the number of points. */
uint32_t hwi_class_timeline_finish(struct hwi_class_timeline *timeline, uint64_t end_ns, const struct hwi_tally *tally);

/* Leaves out moments until there are at most `points` of them, which is at least 1. */
void hwi_class_timeline_coarsen(struct hwi_class_timeline *timeline, uint32_t points);

/* Appends the moments of `part`; this timeline has reached its start. If the moments of `part` are farther apart, those
 * of this timeline become so, too. */
void hwi_class_timeline_append(struct hwi_class_timeline *timeline, const struct hwi_class_timeline *part);

#endif
