/* rss_parts.h - what the resident memory of a process consisted of at a moment */
#ifndef HWI_REPORT_RSS_PARTS_H
#define HWI_REPORT_RSS_PARTS_H

#include "report/report.h"

/* Bytes. The sample's mapped = asked + rounding - untouched + free + files + stacks + recorder + other. */
struct hwi_rss_parts {
  uint64_t asked;     /* live then */
  uint64_t rounding;  /* usable sizes of these, less what was asked for */
  uint64_t untouched; /* of these: not resident, for nobody touched it */
  uint64_t free;      /* in the allocator's memory: no block, but resident */
  uint64_t files;     /* code, data and other files */
  uint64_t stacks, recorder, other;
};

/* Of a sample whose `mapped` is not 0, of a profile of one process. */
struct hwi_rss_parts hwi_rss_parts_of(const struct hwi_profile *profile, const struct hwi_rss_point *point);

/* The sample nearest to the moment, one with a look at the mappings if there is any, or NULL where none is near enough to be
 * compared with it. */
const struct hwi_rss_point *hwi_rss_point_at(const struct hwi_trace_info *info, uint64_t moment_ns);

#endif
