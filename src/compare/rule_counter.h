/* rule_counter.h - counts the figure of a rule while a run is replayed
 *
 * interval   [from, to): calls within it count for calls, bytes, temporary and failed; blocks allocated before are live
 *            in it.
 * level      live bytes. The peak is the moment within the interval with the highest level. The stacks' bytes at that
 *            moment are computed as in profile/counters/tally.h: a stack is updated at its first change after a new
 *            peak.
 * call       for durations: a call within the interval, by a chosen thread, to a chosen entry point. A free belongs to
 *            the stack of its block. A stack's share is its slowest call.
 */
#ifndef HWI_COMPARE_RULE_COUNTER_H
#define HWI_COMPARE_RULE_COUNTER_H

#include "compare/budget.h"
#include "profile/counters/durations.h"

struct hwi_rule_counter_share { /* a stack's */
  uint64_t figure;              /* calls, bytes, temporary or failed; for durations the longest */
  struct hwi_live_sum live;
  uint64_t left_bytes, left_blocks; /* live when their image ended before the run */
  uint64_t peak_bytes, generation;
};

struct hwi_rule_counter {
  const struct hwi_budget *budget;
  const bool *stacks; /* chosen, by stack */
  bool *threads;      /* chosen, by thread */
  bool *scopes;       /* chosen, by path of scopes */
  uint64_t from_ns, to_ns;
  struct hwi_rule_counter_share *shares; /* by stack */
  uint32_t stack_count, thread_count, scope_count;
  bool all_stacks;                /* all chosen, including events without a stack */
  bool entries[HW_ENTRY_COUNT];   /* chosen, of durations */
  struct hwi_durations durations; /* of the calls, if the rule is about durations */
  bool no_memory;
  struct hwi_live_sum level; /* of the blocks whose peak is wanted: all, or the chosen ones (own_peak) */
  uint64_t peak_bytes, generation;
  bool begun;
};

/* The arguments are borrowed. `stacks`: by number, whether the rule is about the stack. Returns 0 or HW_ERR_MEMORY.
 * Release `counter` even after a failure. */
int hwi_rule_counter_init(struct hwi_rule_counter *counter, const struct hwi_budget *budget,
                          const struct hwi_profile *profile, const bool *stacks, struct hwi_error *error);
void hwi_rule_counter_release(struct hwi_rule_counter *counter);

void hwi_rule_counter_take(struct hwi_rule_counter *counter, const struct hwi_block_event *event);

/* Call it after the last event. *figure gets the figure, by_stack[n] the part of stack n. Returns false if there is no
 * memory. */
bool hwi_rule_counter_end(struct hwi_rule_counter *counter, uint64_t *by_stack, uint64_t *figure);

#endif
