/* rss.h - samples the resident set of a recorded process into its trace
 *
 * At first a sample is taken every 20 ms, so that a run of half a second has a curve. Then the interval is a fiftieth
 * of the time that has passed, up to one second, which takes some 250 samples. New peaks are also sampled. The interval
 * grows further after hours, and where reading the mappings takes long, so that it costs less than a hundredth of the
 * time.
 */
#ifndef HWI_LAUNCH_FOLLOW_RSS_H
#define HWI_LAUNCH_FOLLOW_RSS_H

#include <stdint.h>

#include "launch/follow/drain.h"

struct hwi_rss {
  uint64_t began_ns;                    /* time of the first sample; 0: none yet */
  uint64_t next_ns;                     /* time of the next regular sample */
  uint64_t next_maps_ns;                /* time of the next reading of smaps */
  uint64_t peak_bytes;                  /* the largest sample so far */
  uint64_t noted_peak_bytes;            /* peak reported by the kernel, as last written to the header */
  uint64_t recorder_bytes, stack_bytes; /* from the last reading of smaps */
};

/* Writes a peak of the resident set into the header if it is larger than the one there. */
void hwi_rss_note_peak(struct hwi_rss *rss, const struct hwi_drain *drain, uint64_t peak_bytes);

/* Takes a sample if it is time for one. Does nothing if the process is gone, or if its main thread's stack no longer
 * begins at `stack_start` (0: unknown), which means that it is another image. */
void hwi_rss_sample(struct hwi_rss *rss, struct hwi_drain *drain, uint64_t stack_start, uint64_t now_ns);

#endif
