/* runtime_blocks.h - separates two kinds of blocks from those still allocated at the end: the runtime's own, and
 * those that a user's list suppresses */
#ifndef HWI_REPORT_RUNTIME_BLOCKS_H
#define HWI_REPORT_RUNTIME_BLOCKS_H

#include "report/input/suppressions.h"
#include "report/names/named_frames.h"
#include "report/selection.h"

struct hwi_runtime_blocks {
  struct hwi_named_frames *frames;
  struct hwi_suppressions *suppressions; /* NULL: none; their counts of matches are updated */
  struct hwi_amount amount;              /* of the runtime's stacks */
  uint32_t stack_count;
  struct hwi_amount suppressed; /* of the suppressed ones */
};

/* A filter for hwi_selection_init; `context` is a struct hwi_runtime_blocks. It keeps stacks with live blocks at the
 * end, except the runtime's and the suppressed ones, which it counts. */
bool hwi_runtime_blocks_keep(void *context, uint32_t stack, const struct hwi_amount *amount);

#endif
