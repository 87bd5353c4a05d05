/* runtime_blocks.h - sorts out of what is still allocated at the end: the runtime's own blocks, and what a user's list
 * suppresses */
#ifndef HWI_REPORT_RUNTIME_BLOCKS_H
#define HWI_REPORT_RUNTIME_BLOCKS_H

#include "report/input/suppressions.h"
#include "report/names/named_frames.h"
#include "report/selection.h"

struct hwi_runtime_blocks {
  struct hwi_named_frames *frames;
  struct hwi_suppressions *suppressions; /* NULL: none; what they match is counted in them, too */
  struct hwi_amount amount;              /* of the runtime's stacks */
  uint32_t stack_count;
  struct hwi_amount suppressed; /* of the suppressed ones */
};

/* For hwi_selection_init with a struct hwi_runtime_blocks: keeps stacks that hold something at the end, except the
 * runtime's and suppressed ones, which it counts. */
bool hwi_runtime_blocks_keep(void *context, uint32_t stack, const struct hwi_amount *amount);

#endif
