/* totals.c - events into totals alone
 *
 * The figures are those of replay.c, one by one, in a fifth of the memory. A batch belongs to one image, so that what is live
 * in the others stays the same throughout, and ticks become times at its end only, for the few moments that are kept.
 */
#include "profile/totals.h"

/* What is noted while the events of a batch are applied. */
struct batch {
  struct hwi_level others; /* live in other images than this one */
  uint64_t latest_tick;    /* of the events so far; the run's time never falls */
  uint64_t image_peak_tick, run_peak_tick;
  bool has_image_peak, has_run_peak;
};

bool hwi_totals_is_live(void *context, uint64_t address)
{
  struct hwi_replay_image *image = context;
  return hwi_blocks_has(&image->blocks, address);
}

/* The time of the run at a moment of the batch under way. */
static uint64_t run_ns(const struct hwi_replay *replay, const struct hwi_replay_image *image, uint64_t tick)
{
  uint64_t ns = image->offset_ns + hwi_trace_tick_ns(image->trace, tick);
  ns = ns < HWI_TRACE_LATEST_NS ? ns : HWI_TRACE_LATEST_NS;
  return ns > replay->now_ns ? ns : replay->now_ns;
}

static void uncount(struct hwi_replay_image *image, const struct hwi_block *block)
{
  image->live_bytes -= block->size;
  image->live_usable -= block->usable;
}

static bool apply_free(struct hwi_replay *replay, struct hwi_replay_image *image, const struct batch *batch,
                       const struct hwi_event *event)
{
  image->totals.free_calls++;
  const struct hwi_block *block = hwi_blocks_take(&image->blocks, event->address);
  if (!block)
    return hwi_replay_image_free_unknown(image, event->address,
                                         run_ns(replay, image, batch->latest_tick) - image->offset_ns);
  image->totals.temporary_calls += replay->tally.threads[block->thread].last_address == event->address;
  uncount(image, block);
  return true;
}

static bool apply_alloc(struct hwi_replay *replay, struct hwi_replay_image *image, const struct hwi_event *event)
{
  uint32_t thread = hwi_replay_image_thread(image, event->thread, 0, &replay->tally);
  if (!thread)
    return false;
  uint64_t usable = hwi_replay_usable(image, event->size, hwi_replay_rounding(event));
  const struct hwi_block *replaced, block = {event->size, usable, thread - 1};
  if (!hwi_blocks_put(&image->blocks, event->address, &block, &replaced))
    return false;
  if (replaced) { /* its free was missed */
    image->totals.missed_frees++;
    uncount(image, replaced);
  }
  replay->tally.threads[thread - 1].last_address = event->address;
  image->totals.allocation_calls++;
  image->totals.allocated_bytes += event->size;
  image->totals.usable_bytes += usable;
  image->live_bytes += event->size;
  image->live_usable += usable;
  return true;
}

static void note_peaks(struct hwi_level *level, struct hwi_replay_image *image, struct batch *batch)
{
  const struct hwi_level *others = &batch->others;
  if (image->live_bytes > image->totals.peak_bytes) {
    image->totals.peak_bytes = image->live_bytes;
    image->totals.peak_blocks = image->blocks.count;
    image->totals.peak_usable_bytes = image->live_usable;
    batch->image_peak_tick = batch->latest_tick;
    batch->has_image_peak = true;
  }
  if (others->bytes + image->live_bytes > level->peak_bytes) {
    level->peak_bytes = others->bytes + image->live_bytes;
    level->peak_blocks = others->blocks + image->blocks.count;
    level->peak_usable = others->usable + image->live_usable;
    batch->run_peak_tick = batch->latest_tick;
    batch->has_run_peak = true;
  }
}

/* --- a batch --- */

/* What is live in other images than this one. */
static struct hwi_level without(const struct hwi_level *level, const struct hwi_replay_image *image)
{
  return (struct hwi_level){
      .bytes = level->bytes - image->live_bytes,
      .blocks = level->blocks - image->blocks.count,
      .usable = level->usable - image->live_usable,
  };
}

/* Brings the run up to date with its image. */
static void end_batch(struct hwi_replay *replay, struct hwi_replay_image *image, const struct batch *batch)
{
  replay->level.bytes = batch->others.bytes + image->live_bytes;
  replay->level.blocks = batch->others.blocks + image->blocks.count;
  replay->level.usable = batch->others.usable + image->live_usable;
  if (batch->has_image_peak)
    image->totals.peak_time_ns = run_ns(replay, image, batch->image_peak_tick) - image->offset_ns;
  if (batch->has_run_peak)
    replay->level.peak_ns = run_ns(replay, image, batch->run_peak_tick);
  replay->now_ns = run_ns(replay, image, batch->latest_tick);
}

bool hwi_totals_apply(struct hwi_replay *replay, struct hwi_replay_image *image, const struct hwi_event *events,
                      int count)
{
  struct batch batch = {.others = without(&replay->level, image)};
  bool done = true;
  for (int i = 0; i < count && done; i++) {
    const struct hwi_event *event = &events[i];
    if (event->tick > batch.latest_tick)
      batch.latest_tick = event->tick;
    if (event->kind == HWI_EVENT_FREE) {
      done = apply_free(replay, image, &batch, event);
    } else if (event->kind == HWI_EVENT_ALLOC) {
      done = apply_alloc(replay, image, event);
      note_peaks(&replay->level, image, &batch);
    } else {
      image->totals.failed_calls++;
    }
  }
  end_batch(replay, image, &batch);
  return done;
}

void hwi_totals_end_image(struct hwi_replay *replay, struct hwi_replay_image *image, uint64_t ns, bool leaves)
{
  ns = ns < HWI_TRACE_LATEST_NS ? ns : HWI_TRACE_LATEST_NS;
  replay->now_ns = ns > replay->now_ns ? ns : replay->now_ns;
  image->totals.live_blocks_at_end = image->blocks.count;
  image->totals.live_bytes_at_end = image->live_bytes;
  if (!leaves)
    return;
  struct hwi_level others = without(&replay->level, image);
  replay->level.bytes = others.bytes;
  replay->level.blocks = others.blocks;
  replay->level.usable = others.usable;
}
