/* blame.h - the stacks that made a rule fail
 *
 * Those with the largest parts in the figure or, where it is a change that is too large, in the growth. Stacks that read the same
 * (alike.h) are blamed as one; not so of times, of which each stack has its slowest.
 */
#ifndef HWI_COMPARE_BLAME_H
#define HWI_COMPARE_BLAME_H

#include "compare/check.h"

struct hwi_blame {
  uint32_t stack;          /* one of them */
  uint64_t figure, growth; /* of all of them; growth is 0 where the rule is about no change */
};

struct hwi_blames {
  struct hwi_blame *items; /* the largest first, without crumbs; at most as many as the check shows */
  size_t count;
  uint64_t whole; /* the figure, or its growth */
};

/* HW_ERR_MEMORY. To be released, even after a failure. */
int hwi_blames_init(struct hwi_blames *blames, const struct hwi_check *check, const struct hwi_verdict *verdict,
                    struct hwi_error *error);
void hwi_blames_release(struct hwi_blames *blames);

#endif
