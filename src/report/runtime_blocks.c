/* runtime_blocks.c - sorts the runtime's own blocks out of what is still allocated at the end */
#include "report/runtime_blocks.h"

bool hwi_runtime_blocks_keep(void *context, uint32_t stack)
{
  struct hwi_runtime_blocks *runtime = context;
  const struct hwi_stack *asked = &runtime->frames->profile->stacks[stack];
  if (asked->live_blocks == 0)
    return false;
  if (hwi_named_frames_load(runtime->frames, stack, NULL) < 0 || !hwi_named_frames_are_runtime(runtime->frames))
    return true;
  runtime->amount.live_blocks += asked->live_blocks;
  runtime->amount.live_bytes += asked->live_bytes;
  runtime->stack_count++;
  return false;
}
