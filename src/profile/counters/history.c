/* history.c - what happened to each cell, along time; handovers and durations; and the instances of scopes */
#include "profile/counters/history.h"

#include <stdlib.h>
#include <string.h>

#include "trace/grow.h"
#include "trace/table.h"

enum {
  CHANGES_MAX = 1 << 21, /* with more of them and of handovers, slices are joined */
  SLICES_LEAST = 4,      /* ... until there are only so many */
  RECENT = 60,           /* fine slices that are kept */
  ROOM = 16,             /* for new slices, after some were joined */
  SHORTEST_NS = 1 << 20, /* about 1 ms */
  SLOW_CALLS = 100,
  INSTANCES_MAX = 100000,
  SECOND_NS = 1 << 30, /* about 1 s: recent slices do not become longer, unless they have too many changes */
};

void hwi_history_begin(struct hwi_history *history, uint64_t expected_ns)
{
  history->is_kept = true;
  history->fine_ns = history->coarse_ns = SHORTEST_NS;
  while (history->coarse_ns < expected_ns / (HWI_HISTORY_SLICES - RECENT - ROOM))
    history->coarse_ns *= 2;
  history->fine_ns = history->coarse_ns < SECOND_NS ? history->coarse_ns : SECOND_NS;
  history->slice_end_ns = history->fine_ns;
  history->slice_count = 1;
  history->timed_calls.all.slow_max = SLOW_CALLS;
  history->instances.most = INSTANCES_MAX;
  history->instances.is_of_present = true;
}

void hwi_history_release(struct hwi_history *history)
{
  hwi_table_release(history->now, history->now_capacity * sizeof *history->now);
  hwi_table_release(history->changes, history->change_capacity * sizeof *history->changes);
  free(history->open);
  hwi_handovers_release(&history->handovers_now);
  hwi_table_release(history->handovers, history->handover_capacity * sizeof *history->handovers);
  hwi_class_peaks_release(&history->class_peaks);
  hwi_timed_calls_release(&history->timed_calls);
  hwi_instance_list_release(&history->instances);
  *history = (struct hwi_history){0};
}

static bool add_to_changes(struct hwi_history *history, const struct hwi_cell_change *change)
{
  if (!hwi_table_grow((void **)&history->changes, &history->change_capacity, history->change_count + 1,
                      sizeof *history->changes))
    return false;
  history->changes[history->change_count++] = *change;
  return true;
}

struct hwi_cell_change *hwi_history_open(struct hwi_history *history, uint32_t cell)
{
  if (cell < history->now_capacity && history->now[cell].is_open) { /* it is full */
    struct hwi_cell_change *full = &history->now[cell];
    if (!add_to_changes(history, full))
      return NULL;
    *full = (struct hwi_cell_change){.cell = cell, .is_open = true};
    return full;
  }
  if (!hwi_table_grow((void **)&history->now, &history->now_capacity, (size_t)cell + 1, sizeof *history->now) ||
      !hwi_grow((void **)&history->open, &history->open_capacity, history->open_count + 1, sizeof *history->open))
    return NULL;
  history->open[history->open_count++] = cell;
  history->now[cell] = (struct hwi_cell_change){.cell = cell, .is_open = true};
  return &history->now[cell];
}

/* --- fewer slices --- */

/* Returns whether both changes together are few enough for one. */
static bool fits(const struct hwi_cell_change *sum, const struct hwi_cell_change *next)
{
  bool all = sum->calls + next->calls <= HWI_CHANGE_CALLS;
  for (int ending = 0; ending < HWI_ENDINGS && all; ending++)
    all = sum->ended[ending] <= UINT32_MAX - next->ended[ending];
  return all;
}

static void add_change(struct hwi_cell_change *sum, const struct hwi_cell_change *next)
{
  sum->calls = (sum->calls + next->calls) & HWI_CHANGE_CALLS_MASK;
  for (int ending = 0; ending < HWI_ENDINGS; ending++)
    sum->ended[ending] += next->ended[ending];
}

/* Moves the changes of one slice, or of two, from [from, end) to `to`, one for each cell. `place_of` is all zero before and
 * after. Returns where they end. */
static size_t join_changes(struct hwi_history *history, size_t from, size_t end, size_t to, uint32_t *place_of)
{
  struct hwi_cell_change *changes = history->changes;
  const size_t begin = to;
  for (size_t i = from; i < end; i++) {
    const struct hwi_cell_change change = changes[i];
    uint32_t *place = &place_of[change.cell];
    if (*place && fits(&changes[begin + *place - 1], &change)) {
      add_change(&changes[begin + *place - 1], &change);
    } else {
      changes[to++] = change;
      *place = (uint32_t)(to - begin);
    }
  }
  for (size_t i = begin; i < to; i++)
    place_of[changes[i].cell] = 0;
  return to;
}

/* The same for handovers, one for each pair of threads. Sets `to` to where they end. Returns false if there is no memory. */
static bool join_handovers(struct hwi_history *history, size_t from, size_t end, size_t *to)
{
  struct hwi_handover_tally sum = {0};
  bool done = true;
  for (size_t i = from; i < end && done; i++)
    done = hwi_handovers_add(&sum, &history->handovers[i]);
  for (uint32_t i = 0; i < sum.pairs.count && done; i++)
    history->handovers[(*to)++] = sum.items[i];
  hwi_handovers_release(&sum);
  return done;
}

/* Returns whether a slice belongs to the one before it: both are in one stretch of the width that slices of their age
 * have. */
static bool is_same_stretch(const struct hwi_history *history, const struct hwi_slice *before,
                            const struct hwi_slice *slice)
{
  const uint64_t newest_ns = history->slices[history->slice_count - 1].slice.from_ns;
  const bool is_old = newest_ns - slice->from_ns > RECENT * history->fine_ns;
  const uint64_t width_ns = is_old ? history->coarse_ns : history->fine_ns;
  return !slice->pinned && before->from_ns / width_ns == slice->from_ns / width_ns;
}

/* Joins slices that have ended. Returns false if there is no memory. */
static bool join_slices(struct hwi_history *history)
{
  uint32_t *place_of = hwi_table_calloc(history->now_capacity + 1, sizeof *place_of);
  uint32_t to_slice[HWI_HISTORY_SLICES], joined = 0;
  size_t from = 0, to = 0, handovers_from = 0, handovers_to = 0;
  bool done = place_of;
  for (uint32_t i = 0; i < history->slice_count && done;) {
    struct hwi_history_slice made = history->slices[i];
    to_slice[i++] = joined;
    for (; i < history->slice_count && is_same_stretch(history, &made.slice, &history->slices[i].slice); i++) {
      to_slice[i] = joined;
      hwi_slice_join(&made.slice, &history->slices[i].slice);
      made.changes_end = history->slices[i].changes_end;
      made.handovers_end = history->slices[i].handovers_end;
    }
    const size_t end = made.changes_end;
    to = made.changes_end = join_changes(history, from, end, to, place_of);
    from = end;
    const size_t handovers_end = made.handovers_end;
    done = join_handovers(history, handovers_from, handovers_end, &handovers_to);
    made.handovers_end = handovers_to;
    handovers_from = handovers_end;
    history->slices[joined++] = made;
  }
  free(place_of);
  if (!done)
    return false;
  history->slice_count = joined;
  history->change_count = to;
  history->handover_count = handovers_to;
  hwi_sliced_durations_merge(&history->timed_calls.along, to_slice);
  return true;
}

/* Older slices become longer; and recent ones, until they last a second, or if all older ones are one already. */
static void widen(struct hwi_history *history)
{
  const uint64_t newest_ns = hwi_history_now(history)->from_ns;
  history->coarse_ns *= 2;
  if (history->coarse_ns <= SECOND_NS)
    history->fine_ns = history->coarse_ns;
  else if (history->coarse_ns > 2 * newest_ns)
    history->fine_ns *= 2;
}

/* Forgets all cuts but the newest `most` of each kind. */
static void forget_cuts(struct hwi_history *history, uint32_t most)
{
  uint32_t counts[HWI_CUT_RESET + 1] = {0};
  for (uint32_t i = history->slice_count; i > 0; i--) {
    struct hwi_slice *slice = &history->slices[i - 1].slice;
    if (slice->pinned && counts[slice->pinned]++ >= most)
      slice->pinned = 0;
  }
}

static bool has_too_many_changes(const struct hwi_history *history)
{
  return history->change_count + history->handover_count > CHANGES_MAX && history->slice_count > SLICES_LEAST;
}

static bool has_room(const struct hwi_history *history)
{
  return history->slice_count + ROOM <= HWI_HISTORY_SLICES && !has_too_many_changes(history);
}

/* Returns whether only cuts keep slices apart. */
static bool is_all_joined(const struct hwi_history *history)
{
  return history->fine_ns > history->slices[history->slice_count - 1].slice.from_ns;
}

/* Joins slices until there is room for new ones; if that does not suffice, cuts are forgotten. Returns false if there is no
 * memory. */
static bool make_room(struct hwi_history *history)
{
  uint32_t cuts = HWI_HISTORY_CUTS;
  forget_cuts(history, cuts);
  bool done = join_slices(history);
  while (done && !has_room(history)) {
    if (is_all_joined(history))
      forget_cuts(history, cuts /= 2);
    else
      widen(history);
    done = join_slices(history);
  }
  return done;
}

/* --- the end of a slice --- */

/* Returns false if there is no memory. */
static bool end_handovers(struct hwi_history *history)
{
  const struct hwi_handover_tally *now = &history->handovers_now;
  if (!hwi_table_grow((void **)&history->handovers, &history->handover_capacity,
                      history->handover_count + now->pairs.count, sizeof *history->handovers))
    return false;
  for (uint32_t i = 0; i < now->pairs.count; i++)
    if (now->items[i].blocks > 0)
      history->handovers[history->handover_count++] = now->items[i];
  hwi_handovers_restart(&history->handovers_now);
  history->slices[history->slice_count - 1].handovers_end = history->handover_count;
  return true;
}

bool hwi_history_end_slice(struct hwi_history *history, const struct hwi_live_sum *live)
{
  struct hwi_slice *slice = hwi_history_now(history);
  slice->live_bytes = live->bytes;
  slice->live_blocks = live->blocks;
  slice->usable_bytes = live->usable;
  for (size_t i = 0; i < history->open_count; i++) {
    struct hwi_cell_change *change = &history->now[history->open[i]];
    if (!add_to_changes(history, change))
      return false;
    change->is_open = false;
  }
  history->open_count = 0;
  history->slices[history->slice_count - 1].changes_end = history->change_count;
  return end_handovers(history) &&
         hwi_sliced_durations_end_slice(&history->timed_calls.along, history->slice_count - 1);
}

static void begin_slice(struct hwi_history *history, uint64_t from_ns, const struct hwi_live_sum *live)
{
  struct hwi_history_slice *made = &history->slices[history->slice_count++];
  *made = (struct hwi_history_slice){{.from_ns = from_ns, .min_bytes = live->bytes, .max_bytes = live->bytes},
                                     .changes_end = history->change_count,
                                     .handovers_end = history->handover_count};
}

static bool is_full(const struct hwi_history *history)
{
  return history->slice_count == HWI_HISTORY_SLICES || has_too_many_changes(history);
}

static uint64_t next_reset_ns(const struct hwi_history *history)
{
  return history->reset_count ? history->resets_ns[0] : UINT64_MAX;
}

static void drop_next_reset(struct hwi_history *history)
{
  history->reset_count--;
  memmove(history->resets_ns, history->resets_ns + 1, history->reset_count * sizeof *history->resets_ns);
}

static void end_at_next_reset(struct hwi_history *history)
{
  if (next_reset_ns(history) < history->slice_end_ns)
    history->slice_end_ns = next_reset_ns(history);
}

void hwi_history_plan_reset(struct hwi_history *history, uint64_t ns)
{
  if (ns <= hwi_history_now(history)->from_ns ||
      (history->reset_count && ns <= history->resets_ns[history->reset_count - 1]))
    return;
  if (history->reset_count == HWI_HISTORY_CUTS)
    drop_next_reset(history);
  history->resets_ns[history->reset_count++] = ns;
  end_at_next_reset(history);
}

void hwi_history_plan_resets(struct hwi_history *history, const struct hwi_history *other)
{
  for (uint32_t i = 0; i < other->slice_count; i++)
    if (other->slices[i].slice.pinned == HWI_CUT_RESET)
      hwi_history_plan_reset(history, other->slices[i].slice.from_ns);
  for (uint32_t i = 0; i < other->reset_count; i++)
    hwi_history_plan_reset(history, other->resets_ns[i]);
}

/* After an idle time, only the recent part of it is cut into slices. */
bool hwi_history_advance(struct hwi_history *history, uint64_t ns, const struct hwi_live_sum *live)
{
  while (ns >= history->slice_end_ns) {
    uint64_t from_ns = history->slice_end_ns;
    if (!hwi_history_end_slice(history, live) || (is_full(history) && !make_room(history)))
      return false;
    begin_slice(history, from_ns, live);
    if (from_ns == next_reset_ns(history)) {
      hwi_history_now(history)->pinned = HWI_CUT_RESET;
      drop_next_reset(history);
    }
    if (ns - from_ns > RECENT * history->fine_ns)
      from_ns = ns - RECENT * history->fine_ns;
    history->slice_end_ns = (from_ns / history->fine_ns + 1) * history->fine_ns;
    end_at_next_reset(history);
  }
  return true;
}

bool hwi_history_cut(struct hwi_history *history, uint64_t ns, enum hwi_cut why, const struct hwi_live_sum *live)
{
  if (ns > hwi_history_now(history)->from_ns) {
    if (!hwi_history_end_slice(history, live) || (is_full(history) && !make_room(history)))
      return false;
    begin_slice(history, ns, live);
  }
  struct hwi_slice *slice = hwi_history_now(history);
  slice->pinned = slice->pinned > why ? slice->pinned : why;
  return true;
}

bool hwi_history_publish(struct hwi_history *history, const uint32_t *index_of, struct hwi_profile *profile)
{
  for (size_t i = 0; i < history->change_count; i++)
    history->changes[i].cell = index_of[history->changes[i].cell];
  profile->history = history->slices;
  profile->history_count = history->slice_count;
  profile->changes = history->changes;
  profile->handovers_along = history->handovers;
  profile->class_peaks = &history->class_peaks;
  profile->timed_calls = &history->timed_calls;
  profile->instances = &history->instances;
  return hwi_instance_list_end(&history->instances, profile->duration_ns);
}
