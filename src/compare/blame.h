/* blame.h - the stacks that made a rule fail
 *
 * These are the stacks with the largest parts of the figure or, for a rule about a change, of its growth. Stacks that
 * read the same (duplicate_stacks.h) are one entry, except for durations, where each stack has its slowest call.
 */
#ifndef HWI_COMPARE_BLAME_H
#define HWI_COMPARE_BLAME_H

#include "compare/check.h"

struct hwi_blame {
  uint32_t stack;          /* one of them */
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
