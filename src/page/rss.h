/* rss.h - the resident set along time, as a picture shows it
 *
 * point      of one process, a sample, or of several that follow each other the one with most; of several processes together, the
 *            sum of what each of those that run showed last.
 */
#ifndef HWI_PAGE_RSS_H
#define HWI_PAGE_RSS_H

#include "page/slices.h"

enum { HWI_PAGE_RSS_POINTS = 400 };

/* uint64_t throughout, for they are columns of a table. */
struct hwi_page_rss_point {
  uint64_t time_ns; /* since the run's start */
  uint64_t rss_bytes, anonymous_bytes, file_bytes, shmem_bytes, stack_bytes, recorder_bytes, swap_bytes;
};

struct hwi_page_rss {
  struct hwi_page_rss_point points[HWI_PAGE_RSS_POINTS];
  uint32_t count; /* 0: there are no samples */
};

void hwi_page_rss_init(struct hwi_page_rss *rss, const struct hwi_profile *profile);

/* "rss": {...} into the object begun last. */
void hwi_json_page_rss(struct hwi_json *json, const struct hwi_page_rss *rss);

/* Of each slice, the least and the most: "rss_min_bytes" and "rss_max_bytes". */
void hwi_json_page_rss_of_slices(struct hwi_json *json, const struct hwi_page_rss *rss,
                                 const struct hwi_page_slices *slices);

#endif
