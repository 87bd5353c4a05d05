/* runtime_blocks.c - separates the runtime's own blocks and suppressed ones from those still allocated at the end */
#include "report/runtime_blocks.h"

static bool is_suppressed(struct hwi_runtime_blocks *runtime, const struct hwi_amount *amount)
{
  if (!runtime->suppressions ||
      !hwi_suppressions_apply(runtime->suppressions, runtime->frames, amount->live_blocks, amount->live_bytes))
    return false;
  runtime->suppressed.live_blocks += amount->live_blocks;
  runtime->suppressed.live_bytes += amount->live_bytes;
  return true;
}

bool hwi_runtime_blocks_keep(void *context, uint32_t stack, const struct hwi_amount *amount)
{
  struct hwi_runtime_blocks *runtime = context;
  if (amount->live_blocks == 0)
    return false;
  if (hwi_named_frames_load(runtime->frames, stack, NULL) < 0)
    return true;
  if (!hwi_named_frames_are_runtime(runtime->frames))
    return !is_suppressed(runtime, amount);
  runtime->amount.live_blocks += amount->live_blocks;
  runtime->amount.live_bytes += amount->live_bytes;
  runtime->stack_count++;
  return false;
}
