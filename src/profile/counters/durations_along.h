/* durations_along.h - how long calls took over time: for each entry point, how many calls there were in each cell
 *
 * slice      one of HWI_ALONG_SLICES equally long parts of the observed time.
 * band       a range of durations that are counted together: see log_buckets.h. A band's width is at most 1/32 of its
 *            values.
 * cell       a slice and a band of one entry point.
 */
#ifndef HWI_PROFILE_COUNTERS_DURATIONS_ALONG_H
#define HWI_PROFILE_COUNTERS_DURATIONS_ALONG_H

#include "profile/counters/log_buckets.h"
#include "profile/profile.h"

enum {
  HWI_ALONG_SLICES = 256,
  HWI_ALONG_BAND_BITS = 5,
  HWI_ALONG_BANDS = HWI_LOG_BUCKETS(HWI_ALONG_BAND_BITS),
};

struct hwi_durations_along {
  uint64_t from_ns, slice_ns;
  uint64_t *entries[HW_ENTRY_COUNT]; /* cells, slice by slice; NULL: none */
};

/* Prepares for calls from one moment to another, both included. */
void hwi_durations_along_init(struct hwi_durations_along *along, uint64_t from_ns, uint64_t to_ns);
void hwi_durations_along_release(struct hwi_durations_along *along);

/* Adds a timed call of an entry point; a call outside of the observed time counts in the nearest slice. Returns false
 * if there is no memory. */
bool hwi_durations_along_add(struct hwi_durations_along *along, uint8_t entry, uint64_t ns, uint64_t took_ns);

/* Returns 0 if the entry point has no calls. */
uint64_t hwi_durations_along_cell(const struct hwi_durations_along *along, uint8_t entry, uint32_t slice,
                                  uint32_t band);

#endif
