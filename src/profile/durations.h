/* durations.h - how long calls took: a histogram for each entry point, and the slowest calls
 *
 * bucket   durations that count as one: those below 128 ns each have their own, and each power of two from there on is cut into
 *          128 equal parts. So a bucket is less than 0.8 % of what lies in it wide, and a quantile, which is told as its bucket's
 *          upper end, is that much above the exact one at most. Counts, sums and maxima are exact.
 * timed    a call whose duration the recording keeps.
 */
#ifndef HWI_PROFILE_DURATIONS_H
#define HWI_PROFILE_DURATIONS_H

#include "profile/durations_along.h"

enum {
  HWI_DURATION_PART_BITS = 7, /* parts of a power of two */
  HWI_DURATION_BUCKETS = HWI_LOG_BUCKETS(HWI_DURATION_PART_BITS),
};

/* Of one entry point, or of all. */
struct hwi_duration_tally {
  uint64_t calls, untimed; /* timed ones; the others */
  uint64_t sum_ns, max_ns;
  uint64_t *buckets; /* [HWI_DURATION_BUCKETS]; NULL: no timed calls */
};

struct hwi_slow_call {
  uint64_t took_ns;
  uint64_t ns;            /* since the run's start: when an allocation ended, or a free began */
  uint64_t size, address; /* of the block; 0 where it is not known */
  uint32_t
      stack; /* of the call; of a free, which has none, the one that allocated the block, 0 where that is not known */
  uint32_t thread;
  uint8_t entry;
  bool is_free, failed;
};

/* All zero but for slow_max and along: nothing so far. */
struct hwi_durations {
  struct hwi_duration_tally entries[HW_ENTRY_COUNT]; /* by enum hw_entry; [HW_ENTRY_NONE]: the entry is not known */
  struct hwi_slow_call *slowest;                     /* while they are gathered, a heap with the least slow one first */
  size_t slow_count, slow_capacity;
  size_t slow_max;                   /* how many are kept */
  struct hwi_durations_along *along; /* borrowed: gets each timed call, too. NULL: nobody asks when they were */
};

/* Adds a call. A realloc counts once, with the event of its new block; events that are no calls do not. False: no memory. */
bool hwi_durations_add(struct hwi_durations *durations, const struct hwi_block_event *event);

/* All are there: puts the slowest in order, the slowest first; of equal ones, the earliest. */
void hwi_durations_sort(struct hwi_durations *durations);
void hwi_durations_release(struct hwi_durations *durations);

/* Adds the tallies of all entry points up. *sum is to be released. False: no memory. */
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

/* The duration that `part` of 10,000 calls do not exceed. 0 where none was timed. */
uint64_t hwi_duration_quantile(const struct hwi_duration_tally *tally, uint32_t part);

/* What lies in a bucket: [from, to]. */
uint64_t hwi_duration_bucket_from(uint32_t bucket);
uint64_t hwi_duration_bucket_to(uint32_t bucket);

#endif
