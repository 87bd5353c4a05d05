/* runtime_blocks.h - sorts the runtime's own blocks out of what is still allocated at the end */
#ifndef HWI_REPORT_RUNTIME_BLOCKS_H
#define HWI_REPORT_RUNTIME_BLOCKS_H

#include "report/named_frames.h"
#include "report/selection.h"

struct hwi_runtime_blocks {
  struct hwi_named_frames *frames;
  struct hwi_amount amount; /* of the stacks sorted out */
  uint32_t stack_count;
};

/* For hwi_selection_init with a struct hwi_runtime_blocks: keeps stacks that hold something at the end, except the
 * runtime's, which it counts. */
bool hwi_runtime_blocks_keep(void *context, uint32_t stack);

#endif
