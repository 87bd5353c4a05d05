/* rss.h - samples the resident set of a recorded process into its trace
 *
 * About every second, and at new peaks; the intervals grow when the trace has been sampled for hours, and where looking
 * takes long (its cost stays below a hundredth of the time).
 */
#ifndef HWI_LAUNCH_RSS_H
#define HWI_LAUNCH_RSS_H

#include <stdint.h>

#include "launch/drain.h"

struct hwi_rss {
  uint64_t next_ns;                     /* of an ordinary sample */
  uint64_t next_maps_ns;                /* of a look at smaps */
  uint64_t peak_bytes;                  /* the largest sample so far */
  uint64_t noted_peak_bytes;            /* as the kernel had it last, in the header */
  uint64_t recorder_bytes, stack_bytes; /* as smaps had them last */
};

/* Notes in the header a peak of the resident set that is larger than the one there. */
void hwi_rss_note_peak(struct hwi_rss *rss, const struct hwi_drain *drain, uint64_t peak_bytes);

/* Takes a sample if it is time for one. Nothing where the process is gone. */
void hwi_rss_sample(struct hwi_rss *rss, struct hwi_drain *drain, uint64_t now_ns);

#endif
