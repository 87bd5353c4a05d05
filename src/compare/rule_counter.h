/* rule_counter.h - counts what a rule is about while a run is replayed
 *
 * interval   [from, to): what is called within it counts as calls, bytes, temporary and failed; blocks of before are live in it.
 * level      bytes that are live. The peak is the moment within the interval when most are; what stacks had then is kept
 *            as in profile/counters/tally.h: a stack is settled at its first change after a new peak.
 * call       of durations: made within the interval, by a chosen thread, to a chosen entry point; a free belongs to the stack of
 *            its block. A stack's share is its slowest one.
 */
#ifndef HWI_COMPARE_RULE_COUNTER_H
#define HWI_COMPARE_RULE_COUNTER_H

#include "compare/budget.h"
#include "profile/counters/durations.h"

struct hwi_rule_counter_share { /* a stack's */
  uint64_t figure;              /* calls, bytes, temporary or failed; of durations the longest */
  uint64_t live_bytes, live_blocks;
  uint64_t left_bytes, left_blocks; /* live when their image ended, before the run did */
  uint64_t peak_bytes, generation;
};

struct hwi_rule_counter {
  const struct hwi_budget *budget;
  const bool *stacks;         /* chosen, by stack */
  bool *threads;              /* chosen, by thread */
  uint64_t smallest, largest; /* block sizes */
  uint64_t from_ns, to_ns;
  struct hwi_rule_counter_share *shares; /* by stack */
  uint32_t stack_count, thread_count;
  bool all_stacks;                /* chosen, what is of none included */
  bool entries[HW_ENTRY_COUNT];   /* chosen, of durations */
  struct hwi_durations durations; /* of the calls, where the rule is about them */
  bool no_memory;
  uint64_t level_bytes; /* of what the peak is of: all blocks, or the chosen ones (own_peak) */
  uint64_t peak_bytes, generation;
  bool begun;
};

/* All that is given is borrowed; `stacks`: which ones the rule is about, by number. HW_ERR_MEMORY. To be released, even after a
 * failure. */
int hwi_rule_counter_init(struct hwi_rule_counter *gauge, const struct hwi_budget *budget,
                          const struct hwi_profile *profile, const bool *stacks, struct hwi_error *error);
void hwi_rule_counter_release(struct hwi_rule_counter *gauge);

/* `is_temporary`: the event frees the latest block of its owner, allocated at `born_ns`. */
void hwi_rule_counter_take(struct hwi_rule_counter *gauge, const struct hwi_block_event *event, bool is_temporary,
                           uint64_t born_ns);

/* *figure is the figure, when all events were taken; by_stack[n] gets stack n's part. False: no memory. */
bool hwi_rule_counter_end(struct hwi_rule_counter *gauge, uint64_t *by_stack, uint64_t *figure);

#endif
