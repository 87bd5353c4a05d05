/* rss_parts.h - what the resident memory of a process consisted of at a moment */
#ifndef HWI_REPORT_RSS_PARTS_H
#define HWI_REPORT_RSS_PARTS_H

#include "report/report.h"

/* Bytes. The sample's mapped = asked + rounding - untouched + free + own + files + stacks + recorder + other. */
struct hwi_rss_parts {
  uint64_t asked;     /* live then */
  uint64_t rounding;  /* usable sizes of these, less what was asked for */
  uint64_t untouched; /* of these: not resident, for nobody touched it */
  uint64_t free;      /* in the allocator's memory: no block, but resident */
  uint64_t own;   /* mapped by the program itself: no block, and nothing that glibc's malloc has for blocks; at least */
  uint64_t files; /* code, data and other files */
  uint64_t stacks, recorder, other;
};

/* Whether the profile knows what was live at the sample's time: not where the recording was silent before or has been damaged, and
 * one of an interval or a moment knows it of that alone. */
bool hwi_rss_has_live(const struct hwi_profile *profile, const struct hwi_rss_point *point);

/* Of a sample whose `mapped` is not 0 and of whose time it is known what was live, of a profile of one process. */
struct hwi_rss_parts hwi_rss_parts_of(const struct hwi_profile *profile, const struct hwi_rss_point *point);

/* Whether so much can be free in the allocator: not where it is more than twice what blocks ever took at once, beyond what an
 * allocator has at hand. Most of it is then mapped by the program itself, as the heap of a virtual machine is. */
bool hwi_rss_can_be_free(const struct hwi_profile *profile, uint64_t free_bytes);

/* All processes that a profile counts. Pages that several of them share are in each one's part. */
struct hwi_rss_sum {
  struct hwi_rss_point point;  /* the sum of their samples; its time is the run's */
  uint32_t processes, unknown; /* that were alive then; of these: no look at the mappings is near enough */
};
struct hwi_rss_sum hwi_rss_sum_at(const struct hwi_profile *profile, uint64_t moment_ns);

/* The moments of the run to look at RSS along time: of each tenth the one of the largest sample with a look at the mappings.
 * Returns how many tenths have one. */
enum { HWI_RSS_MOMENTS = 10 };
uint32_t hwi_rss_moments(const struct hwi_profile *profile, uint64_t moments_ns[HWI_RSS_MOMENTS]);

/* Whether a sample may be taken for the peak: of a time when about as much was live, or, where that is not known, of its time. */
bool hwi_rss_is_of_peak(const struct hwi_profile *profile, const struct hwi_rss_point *point);

/* Of the samples with a look at the mappings that may be taken for the peak the largest, since blocks are touched only once
 * they are there; else the one nearest to the peak, if there is any of those at which half as much was live; or NULL. */
const struct hwi_rss_point *hwi_rss_point_of_peak(const struct hwi_profile *profile, const struct hwi_trace_info *info);

#endif
