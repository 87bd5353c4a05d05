/* blame.h - the stacks that made a rule fail, and those that increased its figure compared with the baseline
 *
 * These are the stacks with the largest parts of the figure or, for a rule about a change, of its growth. Stacks that
 * read the same (duplicate_stacks.h) are one entry, except for durations, where each stack has its slowest call.
 */
#ifndef HWI_COMPARE_BLAME_H
#define HWI_COMPARE_BLAME_H

#include "compare/check.h"
#include "compare/identity.h"

/* Finds, for each stack of the second run, how much larger its part is than in the first run. Stacks that cannot be
 * distinguished across runs count together, for the one with the largest part. The caller frees *growth, which is NULL
 * if nothing grew. Returns 0 or HW_ERR_MEMORY. */
int hwi_growth_find(const struct hwi_measure *const measures[2], struct hwi_stack_paths *paths, uint64_t **growth);

struct hwi_blame {
  uint32_t stack;          /* one of the stacks that read the same */
  uint64_t figure, growth; /* of all these stacks; growth is 0 unless the rule is about a change */
};

struct hwi_blames {
  struct hwi_blame *items; /* the largest first, without very small ones; at most as many as the check shows */
  size_t count;
  uint64_t whole; /* the figure, or its growth */
};

/* Returns 0 or HW_ERR_MEMORY. Release `blames` even after a failure. */
int hwi_blames_init(struct hwi_blames *blames, const struct hwi_check *check, const struct hwi_verdict *verdict,
                    struct hwi_error *error);
void hwi_blames_release(struct hwi_blames *blames);

#endif
