/* durations.h - how long calls took: for each entry point a histogram, also over time; and the slowest calls
 *
 * timed    a call whose duration was recorded.
 * bucket   a range of durations that are counted together. Durations below 128 ns have a bucket each; each larger power
 *          of two is divided into 128 equal buckets. So a bucket's width is less than 0.8 % of its values. A quantile
 *          is reported as the upper end of its bucket, so it is above the exact value by at most that much. Counts,
 *          sums and maxima are exact.
 * slice    one of HWI_ALONG_SLICES equally long parts of the observed time.
 * band     a wider bucket, for the histogram over time: its width is at most 1/32 of its values.
 * cell     a slice and a band of one entry point.
 */
#ifndef HWI_PROFILE_COUNTERS_DURATIONS_H
#define HWI_PROFILE_COUNTERS_DURATIONS_H

#include "profile/profile.h"

/* --- buckets whose width is proportional to their values --- */

/* Numbers below 1 << part_bits have a bucket each; each larger power of two is divided into 1 << part_bits equal
 * buckets. So a bucket is never wider than 1 / (1 << part_bits) of its smallest value. */
#define HWI_LOG_BUCKETS(part_bits) ((64 - (part_bits) + 1) << (part_bits))

/* Buckets of the power of two with `shift` more bits than the first one are 1 << shift wide. */
static inline uint32_t hwi_log_bucket_of(uint64_t number, unsigned part_bits)
{
  if (number >> part_bits == 0)
    return (uint32_t)number;
  unsigned shift = 63 - (unsigned)__builtin_clzll(number) - part_bits;
  return (shift << part_bits) + (uint32_t)(number >> shift);
}

/* Returns the smallest value of the bucket. */
static inline uint64_t hwi_log_bucket_from(uint32_t bucket, unsigned part_bits)
{
  if (bucket >> part_bits < 2)
    return bucket;
  unsigned shift = (bucket >> part_bits) - 1;
  return (uint64_t)(bucket - (shift << part_bits)) << shift;
}

/* Returns the largest value of the bucket. */
static inline uint64_t hwi_log_bucket_to(uint32_t bucket, unsigned part_bits)
{
  return bucket + 1 < (uint32_t)HWI_LOG_BUCKETS(part_bits) ? hwi_log_bucket_from(bucket + 1, part_bits) - 1
                                                           : UINT64_MAX;
}

/* --- over time --- */

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

/* --- histograms and the slowest calls --- */

enum {
  HWI_DURATION_PART_BITS = 7, /* parts of a power of two */
  HWI_DURATION_BUCKETS = HWI_LOG_BUCKETS(HWI_DURATION_PART_BITS),
};

/* Of one entry point, or of all. */
struct hwi_duration_tally {
  uint64_t calls, untimed; /* timed calls; other calls */
  uint64_t sum_ns, max_ns;
  uint64_t *buckets; /* [HWI_DURATION_BUCKETS]; NULL: no timed calls */
};

struct hwi_slow_call {
  uint64_t took_ns;
  uint64_t ns;            /* since the run's start: when an allocation ended, or a free began */
  uint64_t size, address; /* of the block; 0 if not known */
  /* of the call; for a free, which has none: the stack that allocated the block; 0: not known */
  uint32_t stack;
  uint32_t thread;
  uint8_t entry;
  bool is_free, failed;
};

/* Empty if all is zero except slow_max and along. */
struct hwi_durations {
  struct hwi_duration_tally entries[HW_ENTRY_COUNT]; /* by enum hw_entry; [HW_ENTRY_NONE]: the entry is not known */
  struct hwi_slow_call *slowest;                     /* until they are sorted, a heap with the fastest of them first */
  size_t slow_count, slow_capacity;
  size_t slow_max;                   /* how many are stored */
  struct hwi_durations_along *along; /* borrowed: gets each timed call, too; may be NULL */
};

/* Adds a call. A realloc counts once, with the event of its new block; events that are no calls do not count. Returns
 * false if there is no memory. */
bool hwi_durations_add(struct hwi_durations *durations, const struct hwi_block_event *event);

/* Adds calls that were counted elsewhere, except to `along`. Returns false if there is no memory. */
bool hwi_durations_add_all(struct hwi_durations *sum, const struct hwi_durations *counted);

/* Sorts the slowest calls after the last one was added: the slowest first; of equally slow ones, the earliest first. */
void hwi_durations_sort(struct hwi_durations *durations);
void hwi_durations_release(struct hwi_durations *durations);

/* Adds up the tallies of all entry points. The caller must release *sum. Returns false if there is no memory. */
bool hwi_durations_sum(const struct hwi_durations *durations, struct hwi_duration_tally *sum);
void hwi_duration_tally_release(struct hwi_duration_tally *tally);

/* Parts of 10,000 calls. */
enum {
  HWI_DURATION_P50 = 5000,
  HWI_DURATION_P90 = 9000,
  HWI_DURATION_P99 = 9900,
  HWI_DURATION_P99_9 = 9990,
  HWI_DURATION_P99_99 = 9999,
};

/* Returns the duration that `part` of 10,000 calls do not exceed, or 0 if none was timed. */
uint64_t hwi_duration_quantile(const struct hwi_duration_tally *tally, uint32_t part);

/* The durations of a bucket: [from, to]. */
uint64_t hwi_duration_bucket_from(uint32_t bucket);
uint64_t hwi_duration_bucket_to(uint32_t bucket);

#endif
