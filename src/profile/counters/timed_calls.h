/* timed_calls.h - durations of calls in each slice of time; and, of a run that is followed, also of all and by thread
 *
 * band   durations that are counted together: see durations.h. There are eight for each power of two.
 * part   the durations of one entry point's calls in one slice.
 */
#ifndef HWI_PROFILE_COUNTERS_TIMED_CALLS_H
#define HWI_PROFILE_COUNTERS_TIMED_CALLS_H

#include "profile/counters/durations.h"

/* --- by slice --- */

enum { HWI_PART_BAND_BITS = 3, HWI_PART_BANDS = HWI_LOG_BUCKETS(HWI_PART_BAND_BITS) };

struct hwi_duration_part {
  uint32_t slice;
  uint8_t entry;           /* enum hw_entry */
  uint64_t calls, untimed; /* timed calls; calls without a duration */
  uint64_t sum_ns, max_ns;
  uint64_t bands[HWI_PART_BANDS];
};

/* Begin with all zero. Invariant: parts are in the order of slices. */
struct hwi_sliced_durations {
  struct hwi_durations now; /* the current slice; hwi_durations_add adds to it */
  struct hwi_duration_part *parts;
  size_t count, capacity;
};

void hwi_sliced_durations_release(struct hwi_sliced_durations *durations);

/* Ends the current slice. Returns false if there is no memory; so does the next function. */
bool hwi_sliced_durations_end_slice(struct hwi_sliced_durations *durations, uint32_t slice);

/* Copies the parts of slices that have ended into `to`, which is all zero. */
bool hwi_sliced_durations_copy(const struct hwi_sliced_durations *durations, struct hwi_sliced_durations *to);

/* Merges slices: to_slice[s], which never decreases, gets the parts of slice s. Call it between two slices. */
void hwi_sliced_durations_merge(struct hwi_sliced_durations *durations, const uint32_t *to_slice);

/* --- of a run that is followed --- */

enum { HWI_TIMED_THREADS_MAX = 1024 }; /* of more, none is counted: each may need 100 kB */

/* Begin with all zero, except how many of the slowest calls are stored. */
struct hwi_timed_calls {
  bool is_timed; /* an image with durations has begun; the calls before are not counted */
  struct hwi_durations all;
  struct hwi_sliced_durations along;
  struct hwi_durations *of_threads; /* NULL: of none */
  size_t thread_count, thread_capacity;
  bool has_too_many_threads;
};

void hwi_timed_calls_release(struct hwi_timed_calls *calls);

/* Adds a call. Returns false if there is no memory. */
bool hwi_timed_calls_add(struct hwi_timed_calls *calls, const struct hwi_block_event *event);

#endif
