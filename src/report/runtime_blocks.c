/* runtime_blocks.c - sorts the runtime's own blocks and suppressed ones out of what is still allocated at the end */
#include "report/runtime_blocks.h"

static bool is_suppressed(struct hwi_runtime_blocks *runtime, const struct hwi_stack *stack)
{
  struct hwi_suppression *by =
      runtime->suppressions != NULL ? hwi_suppressions_find(runtime->suppressions, runtime->frames) : NULL;
  if (by == NULL)
    return false;
  by->stacks++;
  by->blocks += stack->live_blocks;
  by->bytes += stack->live_bytes;
  runtime->suppressed.live_blocks += stack->live_blocks;
  runtime->suppressed.live_bytes += stack->live_bytes;
  runtime->suppressed_count++;
  return true;
}

bool hwi_runtime_blocks_keep(void *context, uint32_t stack)
{
  struct hwi_runtime_blocks *runtime = context;
  const struct hwi_stack *asked = &runtime->frames->profile->stacks[stack];
  if (asked->live_blocks == 0)
    return false;
  if (hwi_named_frames_load(runtime->frames, stack, NULL) < 0)
    return true;
  if (!hwi_named_frames_are_runtime(runtime->frames))
    return !is_suppressed(runtime, asked);
  runtime->amount.live_blocks += asked->live_blocks;
  runtime->amount.live_bytes += asked->live_bytes;
  runtime->stack_count++;
  return false;
}
