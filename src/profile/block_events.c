/* block_events.c - a replay that tells a consumer of every event, with the block that it is about
 *
 * What a free ends is known before the replay applies it, what an allocation made is known afterwards.
 */
#include "profile/block_events.h"

/* The block that lives at `address`, if any. */
static bool describe_block(const struct hwi_replay *replay, const struct hwi_replay_image *image, uint64_t address,
                           struct hwi_block_event *told)
{
  const struct hwi_live_slot *slot = hwi_live_slot(&image->live, address);
  if (!slot->address)
    return false;
  const struct hwi_cell *cell = hwi_tally_cell(&replay->tally, slot->cell);
  told->size = cell->size;
  told->usable = cell->usable;
  told->stack = cell->stack;
  told->owner = cell->thread;
  return true;
}

static bool tell_free(const struct hwi_replay *replay, const struct hwi_replay_image *image,
                      struct hwi_block_event told)
{
  told.kind = HWI_BLOCK_FREE;
  if (!describe_block(replay, image, told.address, &told))
    told.kind = HWI_BLOCK_FREE_UNKNOWN;
  return replay->sink->take(replay->sink->context, &told);
}

/* An allocation where a block lives: its free was missed. */
static bool tell_missed(const struct hwi_replay *replay, const struct hwi_replay_image *image,
                        struct hwi_block_event told)
{
  told.kind = HWI_BLOCK_FREE_MISSED;
  return !describe_block(replay, image, told.address, &told) || replay->sink->take(replay->sink->context, &told);
}

static bool tell_call(const struct hwi_replay *replay, const struct hwi_replay_image *image,
                      struct hwi_block_event told)
{
  told.owner = told.thread;
  told.entry = replay->frames.frames[replay->tally.stacks[told.stack].frame].entry;
  if (told.kind == HWI_BLOCK_ALLOC)
    describe_block(replay, image, told.address, &told);
  return replay->sink->take(replay->sink->context, &told);
}

static enum hwi_told apply_one(struct hwi_replay *replay, struct hwi_replay_image *image, uint32_t image_number,
                               const struct hwi_event *event)
{
  uint32_t thread = hwi_replay_image_thread(image, event->thread, image_number, &replay->tally);
  uint64_t ns = image->offset_ns + hwi_trace_tick_ns(image->trace, event->tick);
  ns = ns < HWI_TRACE_LATEST_NS ? ns : HWI_TRACE_LATEST_NS;
  struct hwi_block_event told = {
      .ns = ns > replay->now_ns ? ns : replay->now_ns,
      .address = event->address,
      .image = image_number,
      .thread = thread - 1,
      .alignment_log2 = event->alignment_log2,
      .entry = event->entry,
      .moved = event->moved,
  };
  bool wanted = true;
  if (event->kind == HWI_EVENT_FREE)
    wanted = tell_free(replay, image, told);
  else if (event->kind == HWI_EVENT_ALLOC)
    wanted = tell_missed(replay, image, told);
  if (!thread || !hwi_replay_apply(replay, image, image_number, event, 1))
    return HWI_TOLD_NO_MEMORY;
  if (event->kind != HWI_EVENT_FREE && wanted) {
    told.kind = event->kind == HWI_EVENT_ALLOC ? HWI_BLOCK_ALLOC : HWI_BLOCK_FAILED;
    told.size = event->size;
    told.stack = hwi_replay_image_stack(image, event->node, &replay->frames, &replay->tally);
    wanted = tell_call(replay, image, told);
  }
  return wanted ? HWI_TOLD : HWI_TOLD_STOP;
}

enum hwi_told hwi_block_events_apply(struct hwi_replay *replay, struct hwi_replay_image *image, uint32_t image_number,
                                     const struct hwi_event *events, int count)
{
  enum hwi_told told = HWI_TOLD;
  for (int i = 0; i < count && told == HWI_TOLD; i++)
    told = apply_one(replay, image, image_number, &events[i]);
  return told;
}

bool hwi_block_events_leave(const struct hwi_replay *replay, const struct hwi_replay_image *image,
                            uint32_t image_number, uint64_t ns)
{
  for (size_t i = 0; i <= image->live.mask; i++) {
    struct hwi_block_event told = {
        .ns = ns, .address = image->live.slots[i].address, .image = image_number, .kind = HWI_BLOCK_LEFT};
    if (!told.address)
      continue;
    describe_block(replay, image, told.address, &told);
    told.thread = told.owner;
    if (!replay->sink->take(replay->sink->context, &told))
      return false;
  }
  return true;
}
