/* rss.h - samples the resident set of a recorded process into its trace
 *
 * Every 20 ms at first, so that a run of half a second has a curve; then at a fiftieth of the time that has passed, some 250
 * samples in all until that is a second; and at new peaks. The intervals grow again when the trace has been sampled for hours,
 * and where looking at the mappings takes long (its cost stays below a hundredth of the time).
 */
#ifndef HWI_LAUNCH_RSS_H
#define HWI_LAUNCH_RSS_H

#include <stdint.h>

#include "launch/drain.h"

struct hwi_rss {
  uint64_t began_ns;                    /* the first sample; 0: none yet */
  uint64_t next_ns;                     /* of an ordinary sample */
  uint64_t next_maps_ns;                /* of a look at smaps */
  uint64_t peak_bytes;                  /* the largest sample so far */
  uint64_t noted_peak_bytes;            /* as the kernel had it last, in the header */
  uint64_t recorder_bytes, stack_bytes; /* as smaps had them last */
};

/* Notes in the header a peak of the resident set that is larger than the one there. */
void hwi_rss_note_peak(struct hwi_rss *rss, const struct hwi_drain *drain, uint64_t peak_bytes);

/* Takes a sample if it is time for one. Nothing where the process is gone, or its main thread's stack does not begin at
 * `stack_start` (0: unknown) any more, so that it is another image. */
void hwi_rss_sample(struct hwi_rss *rss, struct hwi_drain *drain, uint64_t stack_start, uint64_t now_ns);

#endif
