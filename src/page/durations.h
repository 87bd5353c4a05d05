/* durations.h - how long calls took in each slice of time
 *
 * band   durations that count as one: see log_buckets.h. Eight of them to a power of two.
 * part   what the calls of one entry point in one slice took.
 */
#ifndef HWI_PAGE_DURATIONS_H
#define HWI_PAGE_DURATIONS_H

#include "page/packed.h"
#include "report/durations.h"

enum { HWI_PAGE_BAND_BITS = 3, HWI_PAGE_BANDS = HWI_LOG_BUCKETS(HWI_PAGE_BAND_BITS) };

struct hwi_page_duration_part {
  uint32_t slice;
  uint8_t entry;           /* enum hw_entry */
  uint64_t calls, untimed; /* timed ones; the others */
  uint64_t sum_ns, max_ns;
  uint64_t bands[HWI_PAGE_BANDS];
};

/* All zero: nothing so far. Invariant: parts are in the order of slices. */
struct hwi_page_durations {
  struct hwi_durations now; /* the slice under way; hwi_durations_add adds to it */
  struct hwi_page_duration_part *parts;
  size_t count, capacity;
};

void hwi_page_durations_release(struct hwi_page_durations *durations);

/* The slice under way ends. False: no memory. */
bool hwi_page_durations_end_slice(struct hwi_page_durations *durations, uint32_t slice);

/* Slices become fewer: to_slice[s], which never falls, takes what slice s had. Between two slices. */
void hwi_page_durations_merge(struct hwi_page_durations *durations, const uint32_t *to_slice);

/* "durations_series" into the object begun last: of the entry points that were found, in their order. */
void hwi_json_page_durations(struct hwi_json *json, const struct hwi_page_durations *durations,
                             const struct hwi_report_durations *found);

#endif
