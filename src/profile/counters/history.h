/* history.h - what happened to each cell, along time; handovers and durations; and the instances of scopes
 *
 * For a run that is followed: its events are not read a second time, so that what a page shows along time is counted with
 * the rest. The last minute is kept second by second. Older slices are joined into longer ones when there are too many
 * slices, or too many changes in them. A slice that begins at a cut is not joined with the one before.
 */
#ifndef HWI_PROFILE_COUNTERS_HISTORY_H
#define HWI_PROFILE_COUNTERS_HISTORY_H

#include "profile/counters/class_peaks.h"
#include "profile/counters/handovers.h"
#include "profile/counters/instance_list.h"
#include "profile/counters/timed_calls.h"

/* Why a slice begins at a cut: the value of its `pinned`. */
enum hwi_cut {
  HWI_CUT_MARK = 1, /* the program named the moment */
  HWI_CUT_RESET,    /* figures count from it */
};
enum { HWI_HISTORY_CUTS = 16 };      /* of each kind; of more, the oldest are forgotten */
enum { HWI_CHANGE_CALLS = 1 << 30 }; /* with so many calls, another change begins */
static const uint32_t HWI_CHANGE_CALLS_MASK = 2 * (uint32_t)HWI_CHANGE_CALLS - 1; /* its room */

/* All zero: no history is kept. */
struct hwi_history {
  bool is_kept;
  uint64_t fine_ns, coarse_ns; /* how long slices are: recent ones, and older ones. Powers of two, times 2^20 ns */
  uint64_t slice_end_ns;       /* of the current slice, which is the last one */
  uint64_t resets_ns[HWI_HISTORY_CUTS]; /* that it will have, ascending */
  uint32_t reset_count;
  struct hwi_history_slice slices[HWI_HISTORY_SLICES];
  uint32_t slice_count;
  struct hwi_cell_change *now; /* by cell: the current slice. A list of table.h */
  size_t now_capacity;
  uint32_t *open; /* cells that changed in it */
  size_t open_count, open_capacity;
  struct hwi_cell_change *changes; /* of the slices before, in their order: a list of table.h */
  size_t change_count, change_capacity;
  struct hwi_handover_tally handovers_now; /* of the current slice */
  struct hwi_handover *handovers;          /* of the slices before, in their order: a list of table.h */
  size_t handover_count, handover_capacity;
  struct hwi_class_peaks class_peaks;
  struct hwi_timed_calls timed_calls;
  struct hwi_instance_list instances;
};

/* `expected_ns`: how long the run has taken so far; 0: unknown. */
void hwi_history_begin(struct hwi_history *history, uint64_t expected_ns);
void hwi_history_release(struct hwi_history *history);

/* The slow part of hwi_history_change. */
struct hwi_cell_change *hwi_history_open(struct hwi_history *history, uint32_t cell);

/* Returns the cell's change in the current slice, or NULL if there is no memory. */
static inline struct hwi_cell_change *hwi_history_change(struct hwi_history *history, uint32_t cell)
{
  struct hwi_cell_change *change = cell < history->now_capacity ? &history->now[cell] : NULL;
  return change && change->is_open && change->calls < HWI_CHANGE_CALLS ? change : hwi_history_open(history, cell);
}

static inline struct hwi_slice *hwi_history_now(struct hwi_history *history)
{
  return &history->slices[history->slice_count - 1].slice;
}

/* Advances the time to `ns`, which is not before slice_end_ns; until now `live` was live. Returns false if there is no
 * memory; so does the next function. */
bool hwi_history_advance(struct hwi_history *history, uint64_t ns, const struct hwi_live_sum *live);

/* A slice begins at `ns`, which is not before the current one and not after its end. */
bool hwi_history_cut(struct hwi_history *history, uint64_t ns, enum hwi_cut why, const struct hwi_live_sum *live);

/* A slice will begin at `ns`, a reset, unless that is in the past. */
void hwi_history_plan_reset(struct hwi_history *history, uint64_t ns);

/* The history, which is at its begin, will have the resets of `other`. */
void hwi_history_plan_resets(struct hwi_history *history, const struct hwi_history *other);

/* Ends the last slice. Before the next event, the time must be advanced. Returns false if there is no memory. */
bool hwi_history_end_slice(struct hwi_history *history, const struct hwi_live_sum *live);

/* Writes the lists into the profile, whose run has ended; `index_of` gives a cell's index in the profile. Returns false if
 * there is no memory. */
bool hwi_history_publish(struct hwi_history *history, const uint32_t *index_of, struct hwi_profile *profile);

#endif
