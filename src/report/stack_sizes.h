/* stack_sizes.h - the block sizes of a stack, or of several */
#ifndef HWI_REPORT_STACK_SIZES_H
#define HWI_REPORT_STACK_SIZES_H

#include "report/duplicate_stacks.h"

struct hwi_stack_size {
  uint64_t size, calls, peak_blocks, live_blocks;
  uint64_t shown; /* of these, the one that the cost is about */
};

struct hwi_stack_sizes {
  struct hwi_stack_size *items; /* the most blocks first; none without */
  uint32_t count;
};

/* Of all `group`'s stacks together; what `cost` ranks by is looked at. False: no memory. */
bool hwi_stack_sizes_init(struct hwi_stack_sizes *sizes, const struct hwi_profile *profile,
                          const struct hwi_duplicates_group *group, enum hwi_cost cost);
void hwi_stack_sizes_release(struct hwi_stack_sizes *sizes);

#endif
