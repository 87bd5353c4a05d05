/* rss_parts.h - what the resident memory of a process consisted of at a moment */
#ifndef HWI_REPORT_CONTENT_RSS_PARTS_H
#define HWI_REPORT_CONTENT_RSS_PARTS_H

#include "report/report.h"

/* Bytes. The sample's mapped = asked + rounding - untouched + free + own + files + stacks + recorder + other. */
struct hwi_rss_parts {
  uint64_t asked;     /* live at that time */
  uint64_t rounding;  /* usable sizes of these, minus the requested bytes */
  uint64_t untouched; /* of these: never written to, and so not resident */
  uint64_t free;      /* in the allocator's memory: resident, but not in a live block */
  uint64_t own;       /* mapped by the program itself, so not the memory of glibc's malloc; a lower bound */
  uint64_t files;     /* code, data and other files */
  uint64_t stacks, recorder, other;
};

/* Returns whether the profile knows which blocks of malloc were live at the sample's time. It does not if the recording was
 * silent before, or is damaged. A profile of an interval or a moment knows it only there. */
bool hwi_rss_has_live(const struct hwi_profile *profile, const struct hwi_rss_point *point);

/* The profile must be of one process, the sample's `mapped` must not be 0, and hwi_rss_has_live must hold for it. */
struct hwi_rss_parts hwi_rss_parts_of(const struct hwi_profile *profile, const struct hwi_rss_point *point);

/* Returns whether so many bytes can be free in the allocator. They cannot if they are more than twice the peak of the
 * blocks plus an allocator's usual reserve. Then the program itself has mapped most of them, such as the heap of a
 * virtual machine. */
bool hwi_rss_can_be_free(const struct hwi_profile *profile, uint64_t free_bytes);

/* All processes that a profile counts. Pages that several processes share are counted for each of them. */
struct hwi_rss_sum {
  struct hwi_rss_point point;  /* the sum of their samples; its time is the run's */
  uint32_t processes, unknown; /* alive then; those of them that have no sample of the mappings near enough */
};
struct hwi_rss_sum hwi_rss_sum_at(const struct hwi_profile *profile, uint64_t moment_ns);

/* The moments of the run at which RSS is shown along time: in each tenth, the time of the largest sample that has
 * mappings. Returns how many tenths have one. */
enum { HWI_RSS_MOMENTS = 10 };
uint32_t hwi_rss_moments(const struct hwi_profile *profile, uint64_t moments_ns[HWI_RSS_MOMENTS]);

/* Returns whether a sample can represent the peak: about as much was live at its time or, if that is not known, its
 * time is near the peak. */
bool hwi_rss_is_of_peak(const struct hwi_profile *profile, const struct hwi_rss_point *point);

/* Considers the samples that have mappings. Returns the largest of those that can represent the peak, since blocks
 * are written to only after they are allocated; else the sample nearest to the peak at which at least half as much
 * was live; else NULL. */
const struct hwi_rss_point *hwi_rss_point_of_peak(const struct hwi_profile *profile, const struct hwi_trace_info *info);

#endif
