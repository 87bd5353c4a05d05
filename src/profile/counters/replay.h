/* replay.h - counts events
 *
 * Events are resolved (resolve.h), and the resolved ones are counted, perhaps in another thread (pipe.h). In struct
 * hwi_replay, `resolver` belongs to the thread that reads, and everything else to the thread that counts.
 * hwi_replay_next_phase and hwi_replay_end_image use both: they are called only when all given events have been
 * counted.
 */
#ifndef HWI_PROFILE_COUNTERS_REPLAY_H
#define HWI_PROFILE_COUNTERS_REPLAY_H

#include "profile/blocks/resolve.h"
#include "profile/counters/class_timeline.h"
#include "profile/counters/tally.h"
#include "profile/counters/timeline.h"
#include "profile/span.h"

/* The memory that is live in all images together, and its peak. */
struct hwi_level {
  uint64_t bytes, blocks, usable;
  uint64_t peak_bytes, peak_blocks, peak_usable, peak_ns;
};

/* A live block. */
struct hwi_live_block {
  uint64_t born_ns; /* of the run */
  uint32_t cell;
  /* stands for the block's lifetime if that is known but its birth is not, see lifetimes.h; 0: use born_ns */
  uint32_t age;
};

/* A block that ended, and was born before the epoch. */
struct hwi_outlived {
  uint64_t address;
  uint32_t cell;
  enum hwi_lifetime lifetime; /* if it is not temporary */
  bool is_temporary;
};

/* Takes such blocks. Returns false if there is no memory. */
struct hwi_outlived_sink {
  bool (*take)(void *context, const struct hwi_outlived *block);
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
  uint64_t epoch_ns;                 /* when the epoch began; 0: the run is not cut into epochs */
  struct hwi_outlived_sink outlived; /* for blocks that were born before epoch_ns */
  uint64_t now_ns;                   /* since the start of the run; never decreases */
  uint64_t expected_ns;              /* how long the run probably took; 0: unknown */
};

bool hwi_replay_init(struct hwi_replay *replay, const struct hwi_span *span,
                     uint64_t expected_ns); /* false: no memory */
void hwi_replay_release(struct hwi_replay *replay);

/* Releases what only resolving and counting need: no event follows. */
void hwi_replay_freeze(struct hwi_replay *replay);

/* Counts `count` events of the batch, starting with the one at `first`. To be called for all events of a batch, in
 * order; each call goes on where the last one ended. Returns false if there is no memory. */
bool hwi_replay_count(struct hwi_replay *replay, struct hwi_batch *batch, int first, int count);

/* The first returns how many of the image's events, from the first one on, belong to the current phase of the replay.
 * The second returns whether that phase is over at `ns`. */
int hwi_replay_count_in_phase(const struct hwi_replay *replay, const struct hwi_replay_image *image,
                              const struct hwi_event *events, int count);
bool hwi_replay_phase_is_over(const struct hwi_replay *replay, uint64_t ns);

/* Goes on to the next phase. At the start of the span, counting restarts; the caller does that for images, see
 * hwi_totals_restart. Returns false if there is no memory. */
bool hwi_replay_next_phase(struct hwi_replay *replay);

/* Ends the image: its last event was applied, and its process ended at `ns` of the run. If `leaves`, other images of
 * the run go on, so that the image's blocks are no longer live; they still count as live at the end. Returns false if
 * there is no memory. */
bool hwi_replay_end_image(struct hwi_replay *replay, struct hwi_replay_image *image, uint64_t ns, bool leaves);

#endif
