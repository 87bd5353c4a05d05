/* class_timeline.h - live bytes by classes of block sizes, along the run
 *
 * class      sizes up to a power of two and above the one before it; the first holds all up to 16 bytes.
 * At most 200 moments: the multiples of a power of two of nanoseconds, so that those of a wider grid are among those of a
 * narrower one, and the end. What is live in each size is counted anyway: a moment costs a look at all sizes, an event nothing.
 */
#ifndef HWI_PROFILE_CLASS_TIMELINE_H
#define HWI_PROFILE_CLASS_TIMELINE_H

#include "profile/profile.h"
#include "profile/tally.h"

/* Invariant: `count` < HWI_CLASS_POINTS between calls, and the width only doubles. */
struct hwi_class_timeline {
  struct hwi_class_point points[HWI_CLASS_POINTS];
  uint32_t count;
  uint64_t width_ns;
  uint64_t next_ns; /* the next moment */
};

/* As hwi_timeline_init. The first moment is behind `start_ns`. */
void hwi_class_timeline_init(struct hwi_class_timeline *timeline, uint64_t start_ns, uint64_t expected_ns);

/* Time has come to `ns`, which is not before next_ns; until now was live what the tally says. */
void hwi_class_timeline_advance(struct hwi_class_timeline *timeline, uint64_t ns, const struct hwi_tally *tally);

/* Adds the end of the run. Returns the number of points. */
uint32_t hwi_class_timeline_finish(struct hwi_class_timeline *timeline, uint64_t end_ns, const struct hwi_tally *tally);

/* Leaves moments out until there are at most `points`, at least 1. */
void hwi_class_timeline_coarsen(struct hwi_class_timeline *timeline, uint32_t points);

/* Goes on with the moments of `part`; this one stands at its start. Where they are farther from each other, so are these then. */
void hwi_class_timeline_append(struct hwi_class_timeline *timeline, const struct hwi_class_timeline *part);

#endif
