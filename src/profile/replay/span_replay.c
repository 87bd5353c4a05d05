/* span_replay.c - computes a part of a run from its epochs, by adding some epochs and replaying others
 *
 * The idea: when the counters are those of the start of an epoch, there are two ways to its end. Either its events are
 * replayed, with a table of live blocks that has only the epoch's older blocks (see epoch.h); or its changes are added,
 * see epoch_sum.c. A span begins and ends somewhere within an epoch: these two epochs are replayed, those before and
 * between are added. An epoch between is also replayed if its slices are too wide for the span's, which happens only if
 * it is most of the span's time.
 *
 * The peak: an epoch records how high the level was in it, but not which blocks were live then. So the highest epoch
 * among those between is also replayed, unless the level was higher in the epoch at the span's start: all others stay
 * below.
 *
 * The invariant: between two steps the counters (cells, stacks, sizes, threads, the level, the slices) are those that a
 * replay from the run's start would have at this point, and `cell_count` and the other counts are how many it would
 * know. Numbers are given in the order of events, so unknown items have larger numbers than known ones. Only the live
 * table differs: it is filled again for each epoch that is replayed. Reading a trace from the epoch's first tick gives
 * the same events in the same order, because events at the same tick are never in different epochs.
 *
 * The cost: the summary is read; the epochs up to the span's end are read; usually at most three epochs are replayed.
 */
#include "profile/replay/span_replay.h"

#include <stdlib.h>

#include "base/error.h"
#include "trace/table.h"

static const size_t NO_EPOCH = SIZE_MAX;

/* The counts of the whole run. */
struct known {
  uint32_t cells;
  size_t stacks, sizes, threads;
};

struct work {
  struct hwi_run_replay *run;
  struct hwi_result *result;
  struct hwi_replay *replay;
  struct hwi_active *active;
  struct hwi_replay_image *image; /* of the active one */
  const struct hwi_epoch_file *file;
  const struct hwi_epoch_row *rows;
  size_t row_count;
  struct known known;
  struct hwi_epoch *epoch; /* the one that was read last */
  size_t highest;          /* of the epochs between the span's ends; NO_EPOCH: there are none */
};

/* --- the start of the run --- */

static struct hwi_stack_tally stack_of(const struct hwi_replay *replay, uint32_t frame)
{
  return (struct hwi_stack_tally){.frame = frame, .innermost = replay->resolver.frames.frames[frame]};
}

/* Sets every counter to its value at the start of the run; the lists of what is counted stay. */
static void empty_counters(struct work *w)
{
  struct hwi_replay *replay = w->replay;
  struct hwi_tally *tally = &replay->tally;
  for (uint32_t i = 1; i < w->known.cells; i++) {
    struct hwi_cell *cell = hwi_tally_cell(tally, i);
    cell->calls = cell->temporary_calls = cell->live = cell->peak_live = 0;
  }
  for (size_t i = 1; i < w->known.stacks; i++)
    tally->stacks[i] = stack_of(replay, tally->stacks[i].frame);
  for (size_t i = 1; i < w->known.sizes; i++)
    tally->sizes[i] = (struct hwi_size_tally){.size = tally->sizes[i].size};
  for (size_t i = 0; i < w->known.threads; i++) {
    const struct hwi_thread_tally *thread = &tally->threads[i];
    tally->threads[i] =
        (struct hwi_thread_tally){.image = thread->image, .number = thread->number, .first_ns = thread->first_ns};
  }
  hwi_resizes_release(&tally->resizes);
  hwi_handovers_release(&tally->handovers);
  tally->cell_count = 1;
  tally->stack_count = tally->size_count = 1;
  tally->thread_count = 0;
  replay->level = (struct hwi_level){0};
  replay->now_ns = 0;
  w->image->totals = (struct hwi_totals){0};
  w->image->live_bytes = w->image->live_usable = w->image->live_blocks = 0;
  hwi_timeline_init(&replay->timeline, 0, replay->expected_ns, 0);
  hwi_class_timeline_init(&replay->class_timeline, 0, replay->expected_ns);
}

/* The nodes of a forged summary must not make the table arbitrarily large. */
static int know_nodes(struct work *w)
{
  enum { MOST_NODES_A_FRAME = 64 };
  const struct hwi_stack_node *nodes = w->result->nodes.items;
  const uint64_t most = (w->replay->resolver.frames.count + w->result->nodes.count) * (uint64_t)MOST_NODES_A_FRAME;
  for (size_t i = 0; i < w->result->nodes.count; i++) {
    if (nodes[i].node > most)
      return HW_ERR_DAMAGED;
    if (!hwi_replay_image_know_node(w->image, nodes[i].node, nodes[i].stack))
      return HW_ERR_MEMORY;
  }
  return 0;
}

static int know_threads(struct work *w)
{
  const struct hwi_thread_tally *threads = w->replay->tally.threads;
  for (size_t i = 0; i < w->known.threads; i++)
    if (threads[i].image == w->image->number && !hwi_replay_image_know_thread(w->image, threads[i].number, (uint32_t)i))
      return HW_ERR_MEMORY;
  return 0;
}

/* The duration of the run is known here. If a replay would have expected a shorter one, its slices would be widened
 * during the replay; here they are as wide as needed from the start. */
static uint64_t expected_ns(const struct work *w, uint64_t run_expected_ns)
{
  uint64_t run_ns = w->result->profile.duration_ns, to_ns = w->replay->span.to_ns;
  uint64_t end_ns = to_ns < run_ns ? to_ns : run_ns;
  return run_expected_ns < end_ns ? end_ns - 1 : run_expected_ns;
}

/* Returns whether exactly one image is counted, whose events are in the epochs. */
static bool find_counted(const struct hwi_run_replay *r, uint32_t *number)
{
  size_t counted = 0;
  for (uint32_t i = 0; i < r->run.count; i++) {
    if (!r->images[i].counted)
      continue;
    *number = i;
    counted++;
  }
  return counted == 1;
}

static int open_image(struct work *w)
{
  uint32_t number;
  if (!find_counted(w->run, &number))
    return HW_ERR_DAMAGED;
  int status = hwi_run_open(&w->run->run, number, &w->result->traces[number], NULL);
  if (status == 0)
    status = hwi_run_replay_add_image(w->run, number, &w->active);
  if (status == 0)
    w->image = &w->active->image;
  return status;
}

static int prepare(struct work *w)
{
  struct hwi_tally *tally = &w->replay->tally;
  w->known = (struct known){tally->cell_count, tally->stack_count, tally->size_count, tally->thread_count};
  tally->complete = w->replay->resolver.complete = true;
  w->replay->resolver.thread_count = (uint32_t)w->known.threads;
  w->replay->span = w->run->options->span;
  w->replay->phase = HWI_BEFORE_SPAN;
  w->replay->expected_ns = expected_ns(w, hwi_run_replay_time_span(w->run));
  hwi_tenths_init(&w->replay->tenths, 0);
  w->epoch = calloc(1, sizeof *w->epoch);
  int status = w->epoch ? open_image(w) : HW_ERR_MEMORY;
  if (status == 0)
    status = know_nodes(w);
  return status == 0 ? know_threads(w) : status;
}

/* --- the epochs between the span's ends --- */

static bool is_within(const struct work *w, const struct hwi_epoch_row *row)
{
  const struct hwi_span *span = &w->replay->span;
  return span->kind == HWI_SPAN_INTERVAL && row->first_ns >= span->from_ns && row->last_ns < span->to_ns;
}

static size_t find_highest(const struct work *w)
{
  size_t highest = NO_EPOCH;
  for (size_t i = 0; i < w->row_count; i++)
    if (is_within(w, &w->rows[i]) && (highest == NO_EPOCH || w->rows[i].max_bytes > w->rows[highest].max_bytes))
      highest = i;
  return highest;
}

/* --- replaying an epoch --- */

/* Each item of the epoch's lists belongs to at least one event, so there are not more items than events. */
static int read_epoch(struct work *w, size_t number)
{
  const uint64_t all = hwi_trace_expected_events(w->image->trace), own = w->rows[number].event_count;
  hwi_epoch_release(w->epoch);
  int status = hwi_epoch_file_read(w->file, number, own < all ? own : all, w->epoch);
  return status == 0 && !hwi_epoch_is_sound(w->epoch, &w->rows[number]) ? HW_ERR_DAMAGED : status;
}

/* Fills the live table with the epoch's older blocks, and nothing else. */
static int fill_table(struct work *w)
{
  struct hwi_replay *replay = w->replay;
  struct hwi_live *live = &w->image->live;
  const struct hwi_list *list = &w->epoch->lists[HWI_EPOCH_BLOCKS];
  const struct hwi_epoch_block *blocks = list->items;
  hwi_live_release(live);
  if (!hwi_live_init(live) ||
      !hwi_table_grow((void **)&replay->blocks, &replay->block_capacity, list->count + 1, sizeof *replay->blocks))
    return HW_ERR_MEMORY;
  replay->resolver.free_count = replay->resolver.block_count = 0;
  for (size_t i = 0; i < list->count; i++) {
    if (!hwi_live_grow(live))
      return HW_ERR_MEMORY;
    struct hwi_live_slot *slot = hwi_live_slot(live, blocks[i].address);
    if (slot->address)
      return HW_ERR_DAMAGED;
    *slot = (struct hwi_live_slot){blocks[i].address, hwi_resolver_new_block(&replay->resolver), 1};
    replay->blocks[slot->number] = (struct hwi_live_block){0, blocks[i].cell, hwi_age_of(blocks[i].lifetime)};
    live->count++;
  }
  return 0;
}

/* Makes the cells known that the epoch changes; its events use no others. */
static int fill_cells(struct work *w)
{
  struct hwi_tally *tally = &w->replay->tally;
  const struct hwi_list *list = &w->epoch->lists[HWI_EPOCH_CELLS];
  const struct hwi_epoch_cell *cells = list->items;
  hwi_hash_table_release(&tally->cell_numbers);
  for (size_t i = 0; i < list->count; i++)
    if (!hwi_tally_know_cell(tally, cells[i].number))
      return HW_ERR_MEMORY;
  return 0;
}

/* Replays the epoch from its start to its end, or to the end of the span. */
static int replay_epoch(struct work *w, size_t number)
{
  const struct hwi_epoch_row *row = &w->rows[number];
  uint64_t left = row->event_count;
  int status = fill_table(w);
  if (status == 0)
    status = fill_cells(w);
  if (status == 0)
    status = hwi_trace_seek(w->image->trace, row->first_tick, NULL);
  while (status == 0 && left && w->replay->phase != HWI_AFTER_SPAN) {
    int count = hwi_trace_next(w->image->trace, w->active->events, HWI_BATCH_EVENTS, NULL);
    if (count <= 0)
      return count < 0 ? count : HW_ERR_DAMAGED;
    count = (uint64_t)count < left ? count : (int)left;
    w->active->at = 0;
    status = hwi_run_replay_apply(w->run, w->active, count);
    left -= (uint64_t)count;
  }
  bool is_whole = status == 0 && w->replay->phase != HWI_AFTER_SPAN;
  if (is_whole && (w->replay->tally.cell_count != row->cells || w->replay->now_ns != row->last_ns))
    return HW_ERR_DAMAGED;
  if (is_whole && is_within(w, row) && w->replay->level.peak_bytes < row->max_bytes)
    return HW_ERR_DAMAGED;
  return status;
}

/* --- the epochs before --- */

/* Goes from the start of the run to the start of the epoch: updates only what is live. */
static int go_to(struct work *w, size_t number)
{
  int status = 0;
  empty_counters(w);
  for (size_t i = 0; i < number && status == 0; i++) {
    status = read_epoch(w, i);
    if (status == 0 && !hwi_epoch_add(w->replay, w->image, w->epoch, &w->rows[i], false))
      status = HW_ERR_MEMORY;
  }
  return status;
}

/* --- the span --- */

/* Returns whether the epoch can be added instead of being replayed. */
static bool can_be_added(const struct work *w, size_t number)
{
  const struct hwi_epoch_row *row = &w->rows[number];
  const struct hwi_replay *replay = w->replay;
  const bool has_peak = number == w->highest && row->max_bytes > replay->level.peak_bytes;
  return replay->phase == HWI_WITHIN_SPAN && is_within(w, row) && !has_peak &&
         row->slice_width_ns <= replay->timeline.width_ns && row->class_width_ns <= replay->class_timeline.width_ns;
}

static int add_epoch(struct work *w, size_t number)
{
  const struct hwi_level *level = &w->replay->level;
  const uint64_t max_bytes = w->rows[number].max_bytes, before = level->bytes;
  if (!hwi_epoch_add(w->replay, w->image, w->epoch, &w->rows[number], true))
    return HW_ERR_MEMORY;
  return max_bytes < before || max_bytes < level->bytes ? HW_ERR_DAMAGED : 0;
}

static int run_span(struct work *w)
{
  size_t number = 0;
  w->highest = find_highest(w);
  while (number < w->row_count && w->rows[number].last_ns < w->replay->span.from_ns)
    number++;
  int status = go_to(w, number);
  for (; number < w->row_count && status == 0; number++) {
    status = hwi_run_replay_pass_phases(w->run, w->rows[number].first_ns);
    if (w->replay->phase == HWI_AFTER_SPAN)
      break;
    if (status == 0)
      status = read_epoch(w, number);
    if (status == 0)
      status = can_be_added(w, number) ? add_epoch(w, number) : replay_epoch(w, number);
  }
  return status;
}

/* The added epochs have changed the peak of the level, but not that of the image. */
static void set_peak(struct work *w)
{
  const struct hwi_level *level = &w->replay->level;
  struct hwi_totals *totals = &w->image->totals;
  totals->peak_bytes = level->peak_bytes;
  totals->peak_blocks = level->peak_blocks;
  totals->peak_usable_bytes = level->peak_usable;
  totals->peak_time_ns = level->peak_ns;
}

static int end_span(struct work *w)
{
  w->active->head_ns = w->result->profile.duration_ns;
  int status = hwi_run_replay_pass_phases(w->run, w->active->head_ns);
  if (w->replay->phase != HWI_BEFORE_SPAN) /* a span that begins after the image's end has no peak */
    set_peak(w);
  if (status == 0)
    status = hwi_run_replay_end_image(w->run, w->active, false);
  return status == 0 ? hwi_run_replay_pass_phases(w->run, UINT64_MAX) : status;
}

/* --- the result --- */

/* Returns whether the cells' live blocks at the peak add up to the level of the peak. In a forged epoch they may
 * not. */
static bool peak_adds_up(const struct work *w)
{
  struct hwi_tally *tally = &w->replay->tally;
  uint64_t blocks = 0, bytes = 0;
  hwi_tally_settle_all(tally);
  for (uint32_t i = 1; i < tally->cell_count; i++) {
    const struct hwi_cell *cell = hwi_tally_cell(tally, i);
    blocks += cell->peak_live;
    bytes += cell->peak_live * cell->size;
  }
  return blocks == w->replay->level.peak_blocks && bytes == w->replay->level.peak_bytes;
}

/* Removes frames and modules that only stacks with unknown numbers use. Returns false if a number is out of range. */
static bool cut_lists(struct work *w)
{
  struct hwi_tally *tally = &w->replay->tally;
  struct hwi_frames *frames = &w->replay->resolver.frames;
  size_t frame_count = 1, module_count = 1;
  for (uint32_t i = 1; i < tally->cell_count; i++) {
    const struct hwi_cell *cell = hwi_tally_cell(tally, i);
    if (cell->context >= tally->thread_count || cell->stack >= tally->stack_count ||
        cell->size_number >= tally->size_count)
      return false;
  }
  for (size_t i = 0; i < tally->handovers.pairs.count; i++)
    if (tally->handovers.items[i].owner >= tally->thread_count ||
        tally->handovers.items[i].freer >= tally->thread_count)
      return false;
  for (size_t i = 0; i < tally->resizes.indices.count; i++)
    if (tally->resizes.items[i].cell >= tally->cell_count)
      return false;
  for (size_t i = 1; i < tally->stack_count; i++)
    if (tally->stacks[i].frame >= frame_count)
      frame_count = (size_t)tally->stacks[i].frame + 1;
  for (size_t i = 1; i < frame_count; i++)
    if (frames->frames[i].module >= module_count)
      module_count = (size_t)frames->frames[i].module + 1;
  hwi_frames_drop_modules(frames, module_count);
  frames->count = frame_count;
  return true;
}

static int replay_span(struct work *w)
{
  int status = prepare(w);
  if (status == 0)
    status = run_span(w);
  if (status == 0)
    status = end_span(w);
  return status == 0 && !(cut_lists(w) && peak_adds_up(w)) ? HW_ERR_DAMAGED : status;
}

int hwi_span_replay(struct hwi_run_replay *run, const struct hwi_epoch_file *file)
{
  struct hwi_result *result = run->result;
  struct hwi_error *error = run->error;
  struct work w = {.run = run,
                   .result = result,
                   .replay = &result->replay,
                   .file = file,
                   .rows = result->epoch_rows.items,
                   .row_count = result->epoch_rows.count};
  run->error = NULL; /* a failure is not reported, because the whole run can still be replayed */
  int status = replay_span(&w);
  run->error = error;
  if (w.epoch)
    hwi_epoch_release(w.epoch);
  free(w.epoch);
  if (status < 0) {
    hwi_run_replay_abandon(run);
    hwi_summary_forget(result, run->images);
  }
  return status;
}
