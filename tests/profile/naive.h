/* naive.h - the model of the heap in the plainest form, to hold the profile against
 *
 * Every figure is found by its definition: all is kept as a list of what happened, and each question walks the list. Nothing
 * is shared with src/profile. Slow, and meant to be.
 */
#ifndef HWI_TESTS_PROFILE_NAIVE_H
#define HWI_TESTS_PROFILE_NAIVE_H

#include <stdbool.h>
#include <stdint.h>

enum naive_kind { NAIVE_ALLOC, NAIVE_FREE, NAIVE_FAILED };

enum { NAIVE_EVENTS = 4096, NAIVE_NONE = -1 };

struct naive_event {
  enum naive_kind kind;
  uint32_t thread, node;
  uint64_t ns, address, size;
  int birth;      /* of a free: the event that gave out the block, NAIVE_NONE: unmatched. Filled by naive_solve */
  int death;      /* of an allocation: the event that freed it, or NAIVE_NONE */
  bool temporary; /* of an allocation */
  bool missed;    /* of an allocation: its block was given out again without a free */
};

struct naive {
  struct naive_event events[NAIVE_EVENTS];
  int count;
  int first; /* what is summed up begins with this event; blocks of before are live. Set before naive_solve */
  int peak;  /* the event after which most bytes were live, from first - 1 on; NAIVE_NONE: before any */
  uint64_t peak_bytes;
};

/* Which events a sum is over; a field that is ANY does not matter. */
#define NAIVE_ANY UINT64_MAX
struct naive_filter {
  uint64_t thread, node, size;
};

struct naive_sum {
  uint64_t calls, bytes, temporary, failed, frees, missed;
  uint64_t start_blocks, start_bytes;
  uint64_t live_blocks, live_bytes;
  uint64_t peak_blocks, peak_bytes;         /* at the run's peak */
  uint64_t own_peak_bytes, own_peak_blocks; /* their own maxima */
  uint64_t first_ns, last_ns, smallest, largest;
  uint64_t lifetimes[6]; /* in the order of enum hwi_lifetime */
};

void naive_add(struct naive *naive, struct naive_event event);

/* Pairs births and deaths, and finds the peak. */
void naive_solve(struct naive *naive);

struct naive_sum naive_sum(const struct naive *naive, struct naive_filter filter);

#endif
