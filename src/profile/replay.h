/* replay.h - events into counters
 *
 * Events are resolved (resolve.h), and the resolved ones are counted, perhaps in another thread (pipe.h). Of a replay, `resolver`
 * belongs to the thread that reads, and all else to the one that counts. hwi_replay_next_phase and hwi_replay_end_image touch
 * both: they are called when all events that were given are counted.
 */
#ifndef HWI_PROFILE_REPLAY_H
#define HWI_PROFILE_REPLAY_H

#include "profile/class_timeline.h"
#include "profile/resolve.h"
#include "profile/span.h"
#include "profile/tally.h"
#include "profile/timeline.h"

/* What is live over all images, and the most there was. */
struct hwi_level {
  uint64_t bytes, blocks, usable;
  uint64_t peak_bytes, peak_blocks, peak_usable, peak_ns;
};

struct hwi_diary;

/* A live block. */
struct hwi_live_block {
  uint64_t born_ns; /* of the run */
  uint32_t cell;
  uint32_t
      age; /* how long it will have lived when it ends, where that is known and its birth is not, see lifetimes.h; 0: by
                   its birth */
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
  struct hwi_diary *diary; /* NULL: none is kept */
  uint64_t epoch_ns;       /* blocks that were born before are of an earlier epoch of the diary */
  uint64_t now_ns;         /* since the start of the run; never falls */
  uint64_t expected_ns;    /* how long the run probably took; 0: unknown */
};

bool hwi_replay_init(struct hwi_replay *replay, const struct hwi_span *span,
                     uint64_t expected_ns); /* false: no memory */
void hwi_replay_release(struct hwi_replay *replay);

/* No event is to come: releases what only resolving and counting needed. */
void hwi_replay_freeze(struct hwi_replay *replay);

/* Counts `count` events of the batch, from the one at `first` on. To be called for all events of a batch, in
 * order; each call goes on where the last one ended. False: no memory. */
bool hwi_replay_count(struct hwi_replay *replay, struct hwi_batch *batch, int first, int count);

/* How many of the image's events, from the first on, belong to the phase that the replay is in; and whether it is over at
 * `ns`. */
int hwi_replay_count_in_phase(const struct hwi_replay *replay, const struct hwi_replay_image *image,
                              const struct hwi_event *events, int count);
bool hwi_replay_phase_is_over(const struct hwi_replay *replay, uint64_t ns);

/* Goes on to the next phase. At the start of the span counting begins anew; that of images is the caller's matter, see
 * hwi_totals_restart. False: no memory. */
bool hwi_replay_next_phase(struct hwi_replay *replay);

/* The image's last event was applied and its process ended at `ns` of the run. Where `leaves`, other images of the run go on,
 * so that its blocks are no longer live now; they stay counted as live at the (its) end. False: no memory. */
bool hwi_replay_end_image(struct hwi_replay *replay, struct hwi_replay_image *image, uint64_t ns, bool leaves);

#endif
