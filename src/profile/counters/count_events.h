/* count_events.h - counts the events of a replay
 *
 * The reading thread resolves events (resolve.h); another thread may count them (pipe.h). In struct hwi_replay,
 * `resolver` belongs to the thread that reads, and everything else to the thread that counts. hwi_replay_next_phase and
 * hwi_replay_end_image use both parts: they may be called only when all resolved events have been counted.
 */
#ifndef HWI_PROFILE_COUNTERS_COUNT_EVENTS_H
#define HWI_PROFILE_COUNTERS_COUNT_EVENTS_H

#include "profile/blocks/resolve.h"
#include "profile/counters/class_timeline.h"
#include "profile/counters/history.h"
#include "profile/counters/tally.h"
#include "profile/counters/timeline.h"
#include "profile/profile.h"

/* How far a replay has come in relation to its span, the part of the run that is reported:
 *
 * before     the span has not begun: all events are replayed, because the blocks that are live at its start must be
 *            known.
 * within     events are counted.
 * after      the span is over: no event is applied any more, so that the live blocks are those at its end. */
enum hwi_span_phase {
  HWI_BEFORE_SPAN = 0,
  HWI_WITHIN_SPAN,
  HWI_AFTER_SPAN,
};

/* Returns the time at which a later phase begins: an event at that time belongs to it. UINT64_MAX: there is no later
 * phase. */
static inline uint64_t hwi_span_phase_end_ns(const struct hwi_span *span, enum hwi_span_phase phase)
{
  if (span->kind == HWI_SPAN_RUN || phase == HWI_AFTER_SPAN)
    return UINT64_MAX;
  if (phase == HWI_WITHIN_SPAN)
    return span->kind == HWI_SPAN_MOMENT ? 0 : span->to_ns;
  return span->kind == HWI_SPAN_MOMENT ? span->from_ns + 1 : span->from_ns;
}

/* Returns an image's figures at the start of the span: nothing is counted, `bytes` in `blocks` are live. */
static inline struct hwi_totals hwi_totals_restart(uint64_t blocks, uint64_t bytes)
{
  return (struct hwi_totals){.live_blocks_at_start = blocks,
                             .live_bytes_at_start = bytes,
                             .live_blocks_at_end = blocks,
                             .live_bytes_at_end = bytes};
}

/* The memory that is live in all images together, and its peak. */
struct hwi_level {
  uint64_t bytes, blocks, usable;
  uint64_t peak_bytes, peak_blocks, peak_usable, peak_ns;
};

/* A live block. */
struct hwi_live_block {
  uint64_t born_ns; /* of the run */
  uint32_t cell;
  uint32_t age; /* stands for the block's lifetime if that is known but its birth is not; 0: use born_ns */
};

/* Returns the age that stands for a lifetime. */
static inline uint32_t hwi_age_of(enum hwi_lifetime lifetime)
{
  return (uint32_t)lifetime + 1;
}

/* Returns the lifetime of a block that ends with this age, which is not 0. */
static inline enum hwi_lifetime hwi_lifetime_of_age(bool is_temporary, uint32_t age)
{
  return is_temporary ? HWI_LIFETIME_TEMPORARY : (enum hwi_lifetime)(age - 1);
}

/* A block that ended in the epoch, and was born before it. */
struct hwi_older_block {
  uint64_t address;
  uint32_t cell;
  enum hwi_lifetime lifetime; /* if it is not temporary */
  bool is_temporary;
};

/* Takes such blocks. Returns false if there is no memory. */
struct hwi_older_block_sink {
  bool (*take)(void *context, const struct hwi_older_block *block);
  void *context;
};

struct hwi_replay {
  struct hwi_resolver resolver;
  struct hwi_span span;
  enum hwi_span_phase phase;
  struct hwi_live_block *blocks; /* by number: a list of table.h */
  size_t block_capacity;
  struct hwi_tally tally;
  struct hwi_timeline timeline;
  struct hwi_class_timeline class_timeline;
  struct hwi_tenths tenths;
  struct hwi_level level;
  struct hwi_history history;
  struct hwi_dropped_sums {
    struct hwi_dropped_blocks *items;
    size_t count, capacity;
    struct hwi_time_point *slices;
    uint32_t slice_count;
    uint64_t free_calls, failed_calls;
  } dropped;
  uint64_t epoch_ns;                        /* when the epoch began; 0: the run is not cut into epochs */
  struct hwi_older_block_sink older_blocks; /* for blocks that were born before epoch_ns */
  uint64_t now_ns;                          /* since the start of the run; never decreases */
  uint64_t expected_ns;                     /* how long the run probably took; 0: unknown */
};

/* Ends the history at `ns`, if one is kept. Returns false if there is no memory. */
bool hwi_replay_end_history(struct hwi_replay *replay, uint64_t ns);

/* Returns false if there is no memory. */
bool hwi_replay_init(struct hwi_replay *replay, const struct hwi_span *span, uint64_t expected_ns);
void hwi_replay_release(struct hwi_replay *replay);

/* Releases what only resolving and counting need: no event follows. */
void hwi_replay_freeze(struct hwi_replay *replay);

/* Counts `count` events of the batch, starting with the one at `first`. To be called for all events of a batch, in
 * order; each call goes on where the last one ended. Returns false if there is no memory. */
bool hwi_replay_count(struct hwi_replay *replay, struct hwi_batch *batch, int first, int count);

/* The first returns how many of the image's events, from the first one on, belong to the current phase of the replay.
 * The second returns whether that phase is over at `ns`. */
int hwi_replay_events_in_phase(const struct hwi_replay *replay, const struct hwi_replay_image *image,
                               const struct hwi_event *events, int count);
bool hwi_replay_phase_is_over(const struct hwi_replay *replay, uint64_t ns);

/* Goes on to the next phase. At the start of the span, counting restarts; the caller does that for images, see
 * hwi_totals_restart. Returns false if there is no memory. */
bool hwi_replay_next_phase(struct hwi_replay *replay);

/* Ends the image: its last event was applied, and its process ended at `ns` of the run. If `others_go_on`, the run has
 * images that end later, so that this image's blocks are no longer live; they still count as live at its end. Returns
 * false if there is no memory. */
bool hwi_replay_end_image(struct hwi_replay *replay, struct hwi_replay_image *image, uint64_t ns, bool others_go_on);

/* Numbers the threads of a sample that have no events, as hwi_replay_end_image does: for a replay that resolves events without
 * counting them, whose threads must have the same numbers. Returns false if there is no memory, or image->error has the reason. */
bool hwi_replay_know_threads(struct hwi_replay *replay, struct hwi_replay_image *image);

#endif
