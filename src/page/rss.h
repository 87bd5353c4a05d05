/* rss.h - the resident set over time, for a chart
 *
 * point      for one process, a sample, or the largest of several consecutive samples; for several processes together,
 *            the sum of the latest samples of all running processes.
 */
#ifndef HWI_PAGE_RSS_H
#define HWI_PAGE_RSS_H

#include "page/slices.h"

enum { HWI_PAGE_RSS_POINTS = 400 };

/* All members are uint64_t, since they are columns of a table. */
struct hwi_page_rss_point {
  uint64_t time_ns; /* since the run's start */
  uint64_t rss_bytes, anonymous_bytes, file_bytes, shmem_bytes, stack_bytes, recorder_bytes, swap_bytes;
  uint64_t group_bytes, group_limit_bytes; /* of the control group; 0: unknown, none */
};

struct hwi_page_rss {
  struct hwi_page_rss_point points[HWI_PAGE_RSS_POINTS];
  uint32_t count; /* 0: there are no samples */
  bool has_limit; /* of a control group */
};

void hwi_page_rss_init(struct hwi_page_rss *rss, const struct hwi_profile *profile);

/* Writes "rss": {...} into the current object. */
void hwi_json_page_rss(struct hwi_json *json, const struct hwi_page_rss *rss);

/* Writes the minimum and maximum of each slice: "rss_min_bytes" and "rss_max_bytes". */
void hwi_json_page_rss_of_slices(struct hwi_json *json, const struct hwi_page_rss *rss,
                                 const struct hwi_page_slices *slices);

#endif
