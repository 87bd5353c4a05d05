/* diary.h - cuts a replay into epochs, and says of each what changed
 *
 * While a diary is kept, what the replay has of maxima, first times and slices is about the epoch alone; the diary has that of
 * the run until then, and gives it back at the end. What adds up is always that of the run.
 */
#ifndef HWI_PROFILE_DIARY_H
#define HWI_PROFILE_DIARY_H

#include "profile/changes.h"
#include "profile/replay.h"

/* Takes an epoch that ended. False: it wants no more of them. */
struct hwi_epoch_sink {
  bool (*take)(void *context, struct hwi_epoch *epoch);
  uint64_t (*bytes)(void *context); /* that those so far take in the file */
  void *context;
};

struct hwi_diary_plan {
  uint64_t event_count;  /* of the run, more or less */
  uint64_t epoch_events; /* an epoch has that many, and those at the same moment */
  uint64_t most_bytes; /* in the file for all: where they take more than their share so far, epochs get up to 4 times as
                            long */
};

struct hwi_diary {
  struct hwi_replay *replay;
  const struct hwi_replay_image *image;
  struct hwi_diary_plan plan;
  struct hwi_epoch_sink sink;
  bool gave_up;         /* the epochs are of no use: one that ended was not wanted, or was too much */
  struct hwi_rows rows; /* struct hwi_epoch_row, of epochs that ended */
  struct hwi_epoch_row row;
  struct hwi_epoch epoch;
  uint64_t wanted_events, events_before;
  uint64_t start_bytes, start_blocks; /* live */
  struct hwi_changes changes;
  struct hwi_timeline timeline;      /* of the run until then */
  struct hwi_class_timeline classes; /* likewise */
};

/* Of a replay of the whole run that counts this one image, and has not begun. NULL: no memory. */
struct hwi_diary *hwi_diary_create(struct hwi_replay *replay, const struct hwi_replay_image *image,
                                   const struct hwi_diary_plan *plan, const struct hwi_epoch_sink *sink);
void hwi_diary_destroy(struct hwi_diary *diary); /* NULL is fine */

/* How many of the events that come next, from the first on, belong to one epoch; 0: no memory. They must be applied. */
int hwi_diary_take(struct hwi_diary *diary, const struct hwi_resolved *events, int count);

/* The last event was applied. False: no memory, here and below; then the replay cannot go on. */
bool hwi_diary_end(struct hwi_diary *diary);

/* A block of before the epoch ends, as its replay finds it. Its lifetime is that without regard to whether it is temporary. */
bool hwi_diary_note_end(struct hwi_diary *diary, const struct hwi_epoch_block *block, bool is_temporary);

#endif
