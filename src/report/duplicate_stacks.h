/* duplicate_stacks.h - stacks that read the same, as one
 *
 * alike      of stacks: as long as one another, and frame by frame the same functions at the same lines of the same modules. Where
 *            a function has no lines, its name is enough; where it has no name, the address has to be the same. What remains to
 *            differ is an address within a line: two calls on it, or two copies of it that the compiler made.
 * group      stacks that are alike: one row of a text. Its cost is the sum of theirs.
 */
#ifndef HWI_REPORT_DUPLICATE_STACKS_H
#define HWI_REPORT_DUPLICATE_STACKS_H

#include "report/names/named_frames.h"
#include "report/selection.h"

/* What is to be grouped: stacks by their rank, each with its cost. */
struct hwi_duplicates_ranking {
  const uint32_t *stacks;
  uint32_t count;
  uint64_t (*cost)(const void *context, uint32_t stack);
  const void *context;
  uint64_t least; /* groups that cost less are not wanted */
};

struct hwi_duplicates_group {
  const uint32_t *stacks; /* by their rank */
  uint32_t count;
  uint64_t cost;
};

struct hwi_duplicates {
  struct hwi_duplicates_group
      *groups; /* the largest cost first; of equal ones, the one with the stack of the higher rank */
  size_t count, room;
  uint32_t *stacks; /* of all groups */
  uint32_t stack_count;
};

/* The selection's stacks, by what they are ranked by. */
struct hwi_duplicates_ranking hwi_duplicates_ranking_of(const struct hwi_selection *selection);

/* Finds the first `most` groups of all that there are: what costs less is not even named. To be released, even after a failure,
 * which is HW_ERR_MEMORY. */
int hwi_duplicates_init(struct hwi_duplicates *alike, const struct hwi_named_frames *frames,
                        const struct hwi_duplicates_ranking *ranking, uint64_t most, struct hwi_error *error);
void hwi_duplicates_release(struct hwi_duplicates *alike);

#endif
