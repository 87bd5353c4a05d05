/* epoch_writer.c - cuts a replay into epochs, and records what changed in each
 *
 * Each epoch begins with an event that is later than all before it, so that a reader can start reading the recording
 * there.
 */
#include "profile/epoch_writer.h"

enum {
  OUTLIVED_MOST = 1 << 21,
  LONGEST = 4, /* times as many events as planned: the report of a span has to replay the epochs at both of its ends */
};

static void *add(struct hwi_epoch_writer *diary, enum hwi_epoch_list list)
{
  return hwi_rows_add(&diary->epoch.lists[list], hwi_epoch_item_bytes(list));
}

/* --- epochs --- */

/* Appends the epoch's timelines to those of the run, and stores them in the epoch, coarsened. */
static void take_timelines(struct hwi_epoch_writer *diary)
{
  struct hwi_replay *replay = diary->replay;
  struct hwi_epoch *epoch = &diary->epoch;
  hwi_timeline_finish(&replay->timeline, replay->timeline.slice_end_ns, replay->level.bytes, replay->level.blocks);
  hwi_timeline_append(&diary->timeline, &replay->timeline, diary->start_bytes, diary->start_blocks);
  hwi_class_timeline_append(&diary->classes, &replay->class_timeline);
  epoch->timeline = replay->timeline;
  epoch->classes = replay->class_timeline;
  hwi_timeline_coarsen(&epoch->timeline, HWI_EPOCH_SLICES);
  hwi_class_timeline_coarsen(&epoch->classes, HWI_EPOCH_CLASS_POINTS);
  for (uint32_t i = 0; i <= epoch->timeline.current; i++)
    if (epoch->timeline.points[i].max_bytes > diary->row.max_bytes)
      diary->row.max_bytes = epoch->timeline.points[i].max_bytes;
  diary->row.slice_width_ns = epoch->timeline.width_ns;
  diary->row.class_width_ns = epoch->classes.width_ns;
}

/* Returns the probable duration of the epoch. It does not exceed the rest of the run, so that the epoch's slices are
 * not wider than the run's. */
static uint64_t expected_of_epoch(const struct hwi_epoch_writer *diary, uint64_t ns)
{
  const uint64_t parts = diary->plan.event_count / diary->plan.epoch_events + 1;
  const uint64_t run_ns = diary->replay->expected_ns, left_ns = run_ns > ns ? run_ns - ns : 0;
  return run_ns / parts < left_ns ? run_ns / parts : left_ns;
}

static void begin_epoch(struct hwi_epoch_writer *diary, uint64_t tick, uint64_t ns)
{
  struct hwi_replay *replay = diary->replay;
  const uint64_t expected_ns = expected_of_epoch(diary, ns);
  diary->row = (struct hwi_epoch_row){.first_tick = tick, .first_ns = ns};
  diary->wanted_events = diary->plan.epoch_events;
  diary->start_bytes = replay->level.bytes;
  diary->start_blocks = replay->level.blocks;
  replay->epoch_ns = ns;
  if (ns >= diary->classes.next_ns)
    hwi_class_timeline_advance(&diary->classes, ns, &replay->tally);
  hwi_timeline_init(&replay->timeline, ns, expected_ns, replay->level.bytes);
  hwi_class_timeline_init(&replay->class_timeline, ns, expected_ns);
}

static bool end_epoch(struct hwi_epoch_writer *diary)
{
  const struct hwi_tally *tally = &diary->replay->tally;
  if (!hwi_changes_take(&diary->changes, &diary->replay->tally, &diary->image->totals, &diary->epoch))
    return false;
  diary->row.last_ns = diary->replay->now_ns;
  diary->row.cells = tally->cell_count;
  diary->row.stacks = (uint32_t)tally->stack_count;
  diary->row.sizes = (uint32_t)tally->size_count;
  diary->row.threads = (uint32_t)tally->thread_count;
  take_timelines(diary);
  diary->events_before += diary->row.event_count;
  struct hwi_epoch_row *row = hwi_rows_add(&diary->rows, sizeof *row);
  if (!row)
    return false;
  *row = diary->row;
  diary->row.event_count = 0;
  diary->gave_up = diary->gave_up || !diary->sink.take(diary->sink.context, &diary->epoch);
  for (int list = 0; list < HWI_EPOCH_LISTS; list++)
    diary->epoch.lists[list].count = 0;
  return true;
}

struct hwi_epoch_writer *hwi_epoch_writer_create(struct hwi_replay *replay, const struct hwi_replay_image *image,
                                                 const struct hwi_epoch_writer_plan *plan,
                                                 const struct hwi_epoch_sink *sink)
{
  struct hwi_epoch_writer *diary = calloc(1, sizeof *diary);
  struct hwi_tally *tally = &replay->tally;
  if (!diary || !hwi_touched_cover(&tally->touched_cells, 1) || !hwi_touched_cover(&tally->touched_stacks, 1)) {
    free(diary);
    return NULL;
  }
  diary->replay = replay;
  diary->image = image;
  diary->plan = *plan;
  diary->sink = *sink;
  diary->timeline = replay->timeline;
  diary->classes = replay->class_timeline;
  replay->diary = diary;
  return diary;
}

void hwi_epoch_writer_destroy(struct hwi_epoch_writer *diary)
{
  if (!diary)
    return;
  hwi_rows_release(&diary->rows);
  hwi_epoch_release(&diary->epoch);
  hwi_changes_release(&diary->changes);
  free(diary);
}

/* Returns whether the epoch may end: the epochs so far do not take more than their share of the file, or this one has
 * reached its greatest length. */
static bool may_end(const struct hwi_epoch_writer *diary)
{
  uint64_t events = diary->events_before + diary->row.event_count, bytes = diary->sink.bytes(diary->sink.context);
  bool is_longest = diary->row.event_count / LONGEST >= diary->plan.epoch_events;
  return !diary->gave_up && (is_longest || (double)bytes * (double)diary->plan.event_count <=
                                               (double)diary->plan.most_bytes * (double)events);
}

/* Returns how many of the events, from the first one on, are not later than the events before them. */
static int count_at_once(const struct hwi_epoch_writer *diary, const struct hwi_resolved *events, int count)
{
  uint64_t last_ns = diary->replay->now_ns;
  for (int i = 0; i < count; i++) {
    uint64_t ns = hwi_clock_tick_ns(diary->image->clock, events[i].tick);
    if (ns > last_ns)
      return i;
    last_ns = ns;
  }
  return count;
}

int hwi_epoch_writer_take(struct hwi_epoch_writer *diary, const struct hwi_resolved *events, int count)
{
  struct hwi_epoch_row *row = &diary->row;
  if (row->event_count && row->event_count >= diary->wanted_events) {
    int at_once = count_at_once(diary, events, count);
    row->event_count += (uint64_t)at_once;
    if (at_once)
      return at_once;
    if (!may_end(diary))
      diary->wanted_events = row->event_count + diary->plan.epoch_events;
    else if (!end_epoch(diary))
      return 0;
  }
  if (!row->event_count)
    begin_epoch(diary, events->tick, hwi_clock_tick_ns(diary->image->clock, events->tick));
  uint64_t left = diary->wanted_events - row->event_count;
  count = (uint64_t)count < left ? count : (int)left;
  row->event_count += (uint64_t)count;
  return count;
}

bool hwi_epoch_writer_note_end(struct hwi_epoch_writer *diary, const struct hwi_epoch_block *block, bool is_temporary)
{
  if (diary->epoch.lists[HWI_EPOCH_BLOCKS].count == OUTLIVED_MOST) /* limits the memory */
    diary->gave_up = true;
  if (diary->gave_up)
    return true;
  struct hwi_epoch_block *noted = add(diary, HWI_EPOCH_BLOCKS);
  if (!noted)
    return false;
  *noted = *block;
  struct hwi_epoch_temporary *temporary = is_temporary ? add(diary, HWI_EPOCH_TEMPORARIES) : NULL;
  if (temporary)
    *temporary = (struct hwi_epoch_temporary){block->cell, block->lifetime};
  return temporary || !is_temporary;
}

bool hwi_epoch_writer_end(struct hwi_epoch_writer *diary)
{
  struct hwi_replay *replay = diary->replay;
  if (diary->row.event_count) {
    if (!end_epoch(diary))
      return false;
    hwi_changes_restore(&diary->changes, &replay->tally); /* the tally gets the run's values back */
    replay->timeline = diary->timeline;
    replay->class_timeline = diary->classes;
  }
  replay->epoch_ns = 0;
  replay->diary = NULL;
  hwi_touched_release(&replay->tally.touched_cells);
  hwi_touched_release(&replay->tally.touched_stacks);
  return true;
}
