/* duplicate_stacks.h - groups stacks that look the same
 *
 * duplicates stacks that have the same length, and frame by frame the same functions at the same lines of the same
 *            modules. Where a function has no line information, its name must be the same; where it has no name, its
 *            address. So duplicates differ only in addresses within a line: the line has two calls, or the compiler
 *            made two copies of it.
 * group      stacks that are duplicates: one row of a text. Its cost is the sum of their costs.
 */
#ifndef HWI_REPORT_CONTENT_DUPLICATE_STACKS_H
#define HWI_REPORT_CONTENT_DUPLICATE_STACKS_H

#include "report/names/named_frames.h"
#include "report/selection/selection.h"

/* The stacks to be grouped, in the order of their rank, each with its cost. */
struct hwi_duplicates_ranking {
  const uint32_t *stacks;
  uint32_t count;
  uint64_t (*cost)(const void *context, uint32_t stack);
  const void *context;
  uint64_t least; /* groups that cost less are left out */
};

struct hwi_duplicates_group {
  const uint32_t *stacks; /* by their rank */
  uint32_t count;
  uint64_t cost;
};

struct hwi_duplicates {
  struct hwi_duplicates_group *groups; /* the largest cost first; at equal cost, by the rank of the first stack */
  size_t count, room;
  uint32_t *stacks; /* of all groups */
  uint32_t stack_count;
};

/* The selection's stacks, with the cost that they are ranked by. */
struct hwi_duplicates_ranking hwi_duplicates_ranking_of(const struct hwi_selection *selection);

/* Finds the `most` groups of the largest cost; stacks that cannot be among them are not symbolized. Returns 0 or
 * HW_ERR_MEMORY. The caller releases it, also after a failure. */
int hwi_duplicates_init(struct hwi_duplicates *duplicates, const struct hwi_named_frames *frames,
                        const struct hwi_duplicates_ranking *ranking, uint64_t most, struct hwi_error *error);
void hwi_duplicates_release(struct hwi_duplicates *duplicates);

#endif
