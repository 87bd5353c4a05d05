/* base_sums.c - adds the sums of dropped events to the counters
 *
 * The peak of what was dropped is the first peak of the replay: the cells are settled at it. What is replayed before the
 * cut are the blocks that live on, which is never more.
 */
#include "profile/counters/base_sums.h"

#include <stdlib.h>
#include <string.h>

#include "trace/grow.h"

static uint64_t calls_of(const struct hw_base_cell *cell)
{
  uint64_t calls = cell->missed;
  for (int i = 0; i < HW_BASE_LIFETIMES; i++)
    calls += cell->ended[i];
  return calls;
}

void hwi_base_add_to_totals(const struct hwi_base *base, struct hwi_totals *totals)
{
  for (uint32_t i = 0; i < base->about.cell_count; i++) {
    const struct hw_base_cell *cell = &base->cells[i];
    const uint64_t calls = calls_of(cell);
    totals->allocation_calls += calls;
    totals->allocated_bytes += calls * cell->size;
    totals->usable_bytes += calls * cell->usable;
    totals->temporary_calls += cell->ended[HWI_LIFETIME_TEMPORARY];
    totals->failed_calls += cell->failed;
  }
  for (uint32_t i = 0; i < base->about.thread_count; i++)
    totals->free_calls += base->threads[i].free_calls;
  totals->missed_frees += base->about.missed_frees;
  totals->inherited_frees += base->about.inherited_frees;
  totals->unmatched_frees += base->about.unmatched_frees;
}

/* Returns the thread's counters, or NULL if there is no memory. */
static struct hwi_thread_tally *find_thread(struct hwi_replay *replay, struct hwi_replay_image *image, uint32_t number,
                                            uint32_t *index)
{
  struct hwi_tally *tally = &replay->tally;
  const uint32_t thread = hwi_replay_image_thread(image, number, &replay->resolver);
  if (!thread)
    return NULL;
  *index = thread - 1;
  if (*index >= tally->thread_count) {
    if (!hwi_tally_add_thread(tally, *index, &(struct hwi_new_thread){image->number, number}))
      return NULL;
    tally->threads[*index].first_ns = image->offset_ns;
  }
  return &tally->threads[*index];
}

/* Returns 0 if there is no memory, or image->error has the reason. */
static uint32_t find_stack(struct hwi_replay *replay, struct hwi_replay_image *image, uint32_t node)
{
  const uint32_t stack = hwi_replay_image_stack(image, node, &replay->resolver);
  if (stack < replay->tally.stack_count)
    return stack;
  const uint32_t frame = hwi_replay_image_frame(image, node);
  const struct hwi_new_stack made = {frame, replay->resolver.frames.frames[frame]};
  return hwi_tally_add_stack(&replay->tally, stack, &made) ? stack : 0;
}

bool hwi_base_know(const struct hwi_base *base, struct hwi_replay *replay, struct hwi_replay_image *image)
{
  uint32_t index;
  bool done = true;
  for (uint32_t i = 0; i < base->about.cell_count && done; i++)
    done = find_thread(replay, image, base->cells[i].thread, &index) && find_stack(replay, image, base->cells[i].node);
  for (uint32_t i = 0; i < base->about.thread_count && done; i++)
    done = find_thread(replay, image, base->threads[i].thread, &index);
  return done;
}

/* Keeps what belongs to no slice of time. */
static bool list_blocks(struct hwi_dropped_sums *dropped, const struct hw_base_cell *from, uint32_t thread,
                        uint32_t stack)
{
  if (!hwi_grow((void **)&dropped->items, &dropped->capacity, dropped->count + 1, sizeof *dropped->items))
    return false;
  struct hwi_dropped_blocks *blocks = &dropped->items[dropped->count++];
  *blocks = (struct hwi_dropped_blocks){thread, stack, from->size, calls_of(from), {0}};
  memcpy(blocks->ended, from->ended, sizeof from->ended);
  blocks->ended[HWI_ENDING_UNSEEN] = from->missed;
  return true;
}

static bool add_cell(struct hwi_replay *replay, struct hwi_replay_image *image, const struct hw_base_cell *from,
                     bool is_alone)
{
  struct hwi_tally *tally = &replay->tally;
  uint32_t index;
  struct hwi_thread_tally *thread = find_thread(replay, image, from->thread, &index);
  const uint32_t stack = thread ? find_stack(replay, image, from->node) : 0;
  if (!stack)
    return false;
  struct hwi_stack_tally *of_stack = &tally->stacks[stack];
  thread->failed_calls += from->failed;
  of_stack->failed_calls += from->failed;
  of_stack->missed_frees += from->missed;
  for (int i = 0; i < HW_BASE_LIFETIMES; i++)
    of_stack->ended[i] += from->ended[i];
  const uint64_t calls = calls_of(from);
  replay->dropped.failed_calls += from->failed;
  if (calls && !list_blocks(&replay->dropped, from, index, stack))
    return false;
  if (!calls && !from->peak_blocks)
    return true;
  const uint64_t usable = image->has_usable ? (from->usable ? from->usable : from->size) : 0;
  const uint32_t number = hwi_tally_find_cell(tally, hwi_tally_context(tally, index), stack, from->size, usable);
  if (!number)
    return false;
  struct hwi_cell *cell = hwi_tally_cell(tally, number);
  cell->calls += calls;
  cell->temporary_calls += from->ended[HWI_LIFETIME_TEMPORARY];
  if (!is_alone)
    return true;
  cell->peak_live += from->peak_blocks;
  of_stack->own_peak_bytes += from->peak_blocks * from->size;
  thread->own_peak_bytes += from->peak_blocks * from->size;
  tally->sizes[cell->size_number].own_peak += from->peak_blocks;
  return true;
}

static void add_peak(const struct hwi_base *base, struct hwi_replay *replay, struct hwi_replay_image *image)
{
  struct hwi_level *level = &replay->level;
  struct hwi_totals *totals = &image->totals;
  totals->peak_bytes = base->about.peak_bytes;
  totals->peak_blocks = base->about.peak_blocks;
  totals->peak_usable_bytes = base->about.peak_usable;
  totals->peak_time_ns = hwi_clock_tick_ns(image->clock, base->about.peak_tick);
  level->peak_bytes = totals->peak_bytes;
  level->peak_blocks = totals->peak_blocks;
  level->peak_usable = totals->peak_usable_bytes;
  level->peak_ns = image->offset_ns + totals->peak_time_ns;
}

static uint64_t slice_end_ns(const struct hwi_trace *trace, const struct hwi_base *base, uint32_t slice)
{
  const uint64_t tick = base->about.first_slice_tick + (slice + UINT64_C(1)) * base->about.slice_ticks;
  return hwi_trace_tick_ns(trace, tick < base->from_tick ? tick : base->from_tick);
}

static bool list_slices(struct hwi_dropped_sums *dropped, const struct hwi_trace *trace, const struct hwi_base *base)
{
  dropped->slices = calloc((size_t)base->about.slice_count + 1, sizeof *dropped->slices);
  for (uint32_t i = 0; i < base->about.slice_count && dropped->slices; i++) {
    const struct hw_base_slice *slice = &base->slices[i];
    dropped->slices[dropped->slice_count++] = (struct hwi_time_point){.ns = slice_end_ns(trace, base, i),
                                                                      .live_bytes = slice->live_bytes,
                                                                      .live_blocks = slice->live_blocks,
                                                                      .max_bytes = slice->max_bytes,
                                                                      .allocation_calls = slice->allocation_calls,
                                                                      .free_calls = slice->free_calls,
                                                                      .allocated_bytes = slice->allocated_bytes};
  }
  return dropped->slices;
}

bool hwi_base_add(const struct hwi_base *base, struct hwi_replay *replay, struct hwi_replay_image *image, bool is_alone)
{
  uint32_t index;
  bool done = true;
  hwi_base_add_to_totals(base, &image->totals);
  for (uint32_t i = 0; i < base->about.cell_count && done; i++)
    done = add_cell(replay, image, &base->cells[i], is_alone);
  for (uint32_t i = 0; i < base->about.thread_count && done; i++) {
    struct hwi_thread_tally *thread = find_thread(replay, image, base->threads[i].thread, &index);
    done = thread;
    if (!thread)
      continue;
    thread->free_calls += base->threads[i].free_calls;
    replay->dropped.free_calls += base->threads[i].free_calls;
    thread->foreign_frees += base->threads[i].foreign_frees;
  }
  if (is_alone)
    add_peak(base, replay, image);
  return done && (!is_alone || list_slices(&replay->dropped, image->trace, base));
}

/* --- along time --- */

void hwi_base_add_to_timeline(const struct hwi_trace *trace, struct hwi_time_point *points, uint32_t count)
{
  const struct hwi_base *base = hwi_trace_base(trace);
  uint32_t point = 0;
  for (uint32_t i = 0; base && i < base->about.slice_count; i++) {
    const struct hw_base_slice *slice = &base->slices[i];
    const uint64_t end_ns = slice_end_ns(trace, base, i);
    for (;; point++) { /* the points that begin before the slice's end */
      if (point >= count)
        return;
      struct hwi_time_point *to = &points[point];
      if (slice->max_bytes > to->max_bytes)
        to->max_bytes = slice->max_bytes;
      if (to->ns >= end_ns)
        break;
      to->live_bytes = slice->live_bytes;
      to->live_blocks = slice->live_blocks;
    }
    points[point].allocation_calls += slice->allocation_calls;
    points[point].free_calls += slice->free_calls;
    points[point].allocated_bytes += slice->allocated_bytes;
    if (points[point].ns == end_ns && end_ns < hwi_trace_tick_ns(trace, base->from_tick)) {
      points[point].live_bytes = slice->live_bytes;
      points[point].live_blocks = slice->live_blocks;
    }
  }
}
