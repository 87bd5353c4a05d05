/* stack_sizes.h - the block sizes of a stack, or of several */
#ifndef HWI_REPORT_CONTENT_STACK_SIZES_H
#define HWI_REPORT_CONTENT_STACK_SIZES_H

#include "report/content/duplicate_stacks.h"

struct hwi_stack_size {
  uint64_t size, calls, peak_blocks, live_blocks;
  uint64_t shown; /* a copy of the figure that the cost is about */
};

struct hwi_stack_sizes {
  struct hwi_stack_size *items; /* the most blocks first; sizes without blocks are left out */
  uint32_t count;
};

/* Finds the sizes of all stacks of `group` together, with the figure that `cost` ranks by. Returns false if there is
 * no memory. */
bool hwi_stack_sizes_init(struct hwi_stack_sizes *sizes, const struct hwi_profile *profile,
                          const struct hwi_duplicates_group *group, enum hwi_cost cost);
void hwi_stack_sizes_release(struct hwi_stack_sizes *sizes);

#endif
