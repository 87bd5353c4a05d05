/* epoch_writer.c - cuts a replay into epochs, and records what changed in each
 *
 * Each epoch begins with an event that is later than all before it, so that a reader can start reading the recording
 * there.
 */
#include "profile/epochs/epoch_writer.h"

enum {
  OLDER_BLOCKS_MOST = 1 << 21,
  LONGEST = 4, /* times as many events as planned: the report of a span has to replay the epochs at both of its ends */
};

static void *add(struct hwi_epoch_writer *writer, enum hwi_epoch_list list)
{
  return hwi_list_add(&writer->epoch.lists[list], hwi_epoch_item_bytes(list));
}

/* --- epochs --- */

/* Appends the epoch's timelines to those of the run, and stores them in the epoch, coarsened. */
static void take_timelines(struct hwi_epoch_writer *writer)
{
  struct hwi_replay *replay = writer->replay;
  struct hwi_epoch *epoch = &writer->epoch;
  hwi_timeline_finish(&replay->timeline, replay->timeline.slice_end_ns, replay->level.bytes, replay->level.blocks);
  hwi_timeline_append(&writer->timeline, &replay->timeline, writer->start_bytes, writer->start_blocks);
  hwi_class_timeline_append(&writer->classes, &replay->class_timeline);
  epoch->timeline = replay->timeline;
  epoch->classes = replay->class_timeline;
  hwi_timeline_coarsen(&epoch->timeline, HWI_EPOCH_SLICES);
  hwi_class_timeline_coarsen(&epoch->classes, HWI_EPOCH_CLASS_POINTS);
  for (uint32_t i = 0; i <= epoch->timeline.current; i++)
    if (epoch->timeline.points[i].max_bytes > writer->row.max_bytes)
      writer->row.max_bytes = epoch->timeline.points[i].max_bytes;
  writer->row.slice_width_ns = epoch->timeline.width_ns;
  writer->row.class_width_ns = epoch->classes.width_ns;
}

/* Returns the probable duration of the epoch. It does not exceed the rest of the run, so that the epoch's slices are
 * not wider than the run's. */
static uint64_t expected_of_epoch(const struct hwi_epoch_writer *writer, uint64_t ns)
{
  const uint64_t parts = writer->plan.event_count / writer->plan.epoch_events + 1;
  const uint64_t run_ns = writer->replay->expected_ns, left_ns = run_ns > ns ? run_ns - ns : 0;
  return run_ns / parts < left_ns ? run_ns / parts : left_ns;
}

static void begin_epoch(struct hwi_epoch_writer *writer, uint64_t tick, uint64_t ns)
{
  struct hwi_replay *replay = writer->replay;
  const uint64_t expected_ns = expected_of_epoch(writer, ns);
  writer->row = (struct hwi_epoch_row){.first_tick = tick, .first_ns = ns};
  writer->wanted_events = writer->plan.epoch_events;
  writer->start_bytes = replay->level.bytes;
  writer->start_blocks = replay->level.blocks;
  replay->epoch_ns = ns;
  if (ns >= writer->classes.next_ns)
    hwi_class_timeline_advance(&writer->classes, ns, &replay->tally);
  hwi_timeline_init(&replay->timeline, ns, expected_ns, replay->level.bytes);
  hwi_class_timeline_init(&replay->class_timeline, ns, expected_ns);
}

static bool end_epoch(struct hwi_epoch_writer *writer)
{
  const struct hwi_tally *tally = &writer->replay->tally;
  if (!hwi_changes_take(&writer->changes, &writer->replay->tally, &writer->image->totals, &writer->epoch))
    return false;
  writer->row.last_ns = writer->replay->now_ns;
  writer->row.cells = tally->cell_count;
  writer->row.stacks = (uint32_t)tally->stack_count;
  writer->row.sizes = (uint32_t)tally->size_count;
  writer->row.threads = (uint32_t)tally->thread_count;
  take_timelines(writer);
  writer->events_before += writer->row.event_count;
  struct hwi_epoch_row *row = hwi_list_add(&writer->rows, sizeof *row);
  if (!row)
    return false;
  *row = writer->row;
  writer->row.event_count = 0;
  writer->gave_up = writer->gave_up || !writer->sink.take(writer->sink.context, &writer->epoch);
  for (int list = 0; list < HWI_EPOCH_LISTS; list++)
    writer->epoch.lists[list].count = 0;
  return true;
}

/* As struct hwi_older_block_sink has it: the epoch gets the block. */
static bool take_older_block(void *context, const struct hwi_older_block *block)
{
  struct hwi_epoch_writer *writer = context;
  if (writer->epoch.lists[HWI_EPOCH_BLOCKS].count == OLDER_BLOCKS_MOST) /* limits the memory */
    writer->gave_up = true;
  if (writer->gave_up)
    return true;
  struct hwi_epoch_block *noted = add(writer, HWI_EPOCH_BLOCKS);
  if (!noted)
    return false;
  *noted = (struct hwi_epoch_block){block->address, block->cell, (uint8_t)block->lifetime};
  struct hwi_epoch_temporary *temporary = block->is_temporary ? add(writer, HWI_EPOCH_TEMPORARIES) : NULL;
  if (temporary)
    *temporary = (struct hwi_epoch_temporary){block->cell, (uint8_t)block->lifetime};
  return temporary || !block->is_temporary;
}

struct hwi_epoch_writer *hwi_epoch_writer_create(struct hwi_replay *replay, const struct hwi_replay_image *image,
                                                 const struct hwi_epoch_writer_plan *plan,
                                                 const struct hwi_epoch_sink *sink)
{
  struct hwi_epoch_writer *writer = calloc(1, sizeof *writer);
  struct hwi_tally *tally = &replay->tally;
  if (!writer || !hwi_touched_cover(&tally->touched_cells, 1) || !hwi_touched_cover(&tally->touched_stacks, 1)) {
    free(writer);
    return NULL;
  }
  writer->replay = replay;
  writer->image = image;
  writer->plan = *plan;
  writer->sink = *sink;
  writer->timeline = replay->timeline;
  writer->classes = replay->class_timeline;
  replay->older_blocks = (struct hwi_older_block_sink){take_older_block, writer};
  return writer;
}

void hwi_epoch_writer_destroy(struct hwi_epoch_writer *writer)
{
  if (!writer)
    return;
  hwi_list_release(&writer->rows);
  hwi_epoch_release(&writer->epoch);
  hwi_changes_release(&writer->changes);
  free(writer);
}

/* Returns whether the epoch may end: the epochs so far do not take more than their share of the file, or this one has
 * reached its greatest length. */
static bool may_end(const struct hwi_epoch_writer *writer)
{
  uint64_t events = writer->events_before + writer->row.event_count, bytes = writer->sink.bytes(writer->sink.context);
  bool is_longest = writer->row.event_count / LONGEST >= writer->plan.epoch_events;
  return !writer->gave_up && (is_longest || (double)bytes * (double)writer->plan.event_count <=
                                                (double)writer->plan.most_bytes * (double)events);
}

/* Returns how many of the events, from the first one on, are not later than the events before them. */
static int count_at_once(const struct hwi_epoch_writer *writer, const struct hwi_resolved *events, int count)
{
  uint64_t last_ns = writer->replay->now_ns;
  for (int i = 0; i < count; i++) {
    uint64_t ns = hwi_clock_tick_ns(writer->image->clock, events[i].tick);
    if (ns > last_ns)
      return i;
    last_ns = ns;
  }
  return count;
}

int hwi_epoch_writer_take(struct hwi_epoch_writer *writer, const struct hwi_resolved *events, int count)
{
  struct hwi_epoch_row *row = &writer->row;
  if (row->event_count && row->event_count >= writer->wanted_events) {
    int at_once = count_at_once(writer, events, count);
    row->event_count += (uint64_t)at_once;
    if (at_once)
      return at_once;
    if (!may_end(writer))
      writer->wanted_events = row->event_count + writer->plan.epoch_events;
    else if (!end_epoch(writer))
      return 0;
  }
  if (!row->event_count)
    begin_epoch(writer, events->tick, hwi_clock_tick_ns(writer->image->clock, events->tick));
  uint64_t left = writer->wanted_events - row->event_count;
  count = (uint64_t)count < left ? count : (int)left;
  row->event_count += (uint64_t)count;
  return count;
}

bool hwi_epoch_writer_end(struct hwi_epoch_writer *writer)
{
  struct hwi_replay *replay = writer->replay;
  if (writer->row.event_count) {
    if (!end_epoch(writer))
      return false;
    hwi_changes_restore(&writer->changes, &replay->tally); /* the tally gets the run's values back */
    replay->timeline = writer->timeline;
    replay->class_timeline = writer->classes;
  }
  replay->epoch_ns = 0;
  hwi_touched_release(&replay->tally.touched_cells);
  hwi_touched_release(&replay->tally.touched_stacks);
  return true;
}
