/* durations.h - durations of calls in each slice of time
 *
 * band   durations that are counted together: see profile/counters/durations.h. There are eight for each power of two.
 * part   the durations of one entry point's calls in one slice.
 */
#ifndef HWI_PAGE_DURATIONS_H
#define HWI_PAGE_DURATIONS_H

#include "page/packed.h"
#include "report/content/durations.h"

enum { HWI_PAGE_BAND_BITS = 3, HWI_PAGE_BANDS = HWI_LOG_BUCKETS(HWI_PAGE_BAND_BITS) };

struct hwi_page_duration_part {
  uint32_t slice;
  uint8_t entry;           /* enum hw_entry */
  uint64_t calls, untimed; /* timed calls; calls without a duration */
  uint64_t sum_ns, max_ns;
  uint64_t bands[HWI_PAGE_BANDS];
};

/* Begin with all zero. Invariant: parts are in the order of slices. */
struct hwi_page_durations {
  struct hwi_durations now; /* the current slice; hwi_durations_add adds to it */
  struct hwi_page_duration_part *parts;
  size_t count, capacity;
};

void hwi_page_durations_release(struct hwi_page_durations *durations);

/* Ends the current slice. Returns false if there is no memory. */
bool hwi_page_durations_end_slice(struct hwi_page_durations *durations, uint32_t slice);

/* Merges slices: to_slice[s], which never decreases, gets the parts of slice s. Call it between two slices. */
void hwi_page_durations_merge(struct hwi_page_durations *durations, const uint32_t *to_slice);

/* Writes "durations_series" into the current object, for the entry points that were found, in their order. */
void hwi_json_page_durations(struct hwi_json *json, const struct hwi_page_durations *durations,
                             const struct hwi_report_durations *found);

#endif
