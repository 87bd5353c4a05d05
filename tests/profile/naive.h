/* naive.h - the model of the heap in its simplest form, with which the profile is compared
 *
 * Every figure is found by its definition: all events are kept in a list, and each question walks the list. It shares
 * nothing with src/profile. It is slow on purpose.
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
  uint64_t usable;        /* of an allocation */
  int moved_from;         /* of an allocation by realloc: the event that freed the old block; else NAIVE_NONE */
  bool is_new, is_delete; /* by a C++ operator */
  bool is_moving;         /* of a free: half of a realloc */
  int birth;              /* of a free: the event that allocated the block; NAIVE_NONE: unmatched. Set by naive_solve */
  int death;              /* of an allocation: the event that freed it, or NAIVE_NONE */
  bool temporary;         /* of an allocation */
  bool missed;            /* of an allocation: its address was allocated again without a free */
};

struct naive {
  struct naive_event events[NAIVE_EVENTS];
  int count;
  int first; /* the sums begin with this event; earlier blocks are live. Set it before naive_solve */
  int peak;  /* the event after which most bytes were live, from first - 1 on; NAIVE_NONE: before any */
  uint64_t peak_bytes;
};

/* Selects the events of a sum; a field that is ANY does not matter. */
#define NAIVE_ANY UINT64_MAX
struct naive_filter {
  uint64_t thread, node, size, usable;
};

struct naive_sum {
  uint64_t calls, bytes, temporary, failed, frees, missed;
  uint64_t start_blocks, start_bytes;
  uint64_t live_blocks, live_bytes;
  uint64_t peak_blocks, peak_bytes; /* at the run's peak */
  uint64_t usable, peak_usable;
  uint64_t own_peak_bytes, own_peak_blocks; /* their own maxima */
  uint64_t first_ns, last_ns, smallest, largest;
  uint64_t lifetimes[6]; /* in the order of enum hwi_lifetime */
};

void naive_add(struct naive *naive, struct naive_event event);

/* Pairs births and deaths, and finds the peak. */
void naive_solve(struct naive *naive);

struct naive_sum naive_sum(const struct naive *naive, struct naive_filter filter);

/* The steps, by realloc or inferred, that led to blocks of a node, and the later fate of its blocks. */
struct naive_steps {
  uint64_t steps, moved, copied_bytes, grown, grown_copied_bytes;
  uint64_t final_blocks, final_median, final_largest;
};
struct naive_steps naive_steps(const struct naive *naive, uint32_t node);

/* Generations of a node's blocks that were freed together, over the whole run. */
struct naive_together {
  uint64_t blocks, generations, largest_bytes;
};
struct naive_together naive_together(const struct naive *naive, uint32_t node);

/* Blocks of the thread `owner` that `freer` freed. */
void naive_handed(const struct naive *naive, uint32_t owner, uint32_t freer, uint64_t *blocks, uint64_t *bytes);

/* Live bytes of sizes from `least` to `most`, after all events before `ns`. */
uint64_t naive_live_of_sizes(const struct naive *naive, uint64_t ns, uint64_t least, uint64_t most);

#endif
