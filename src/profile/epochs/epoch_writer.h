/* epoch_writer.h - cuts a replay into epochs, and records what changed in each
 *
 * While epochs are written, the replay's maxima, first times and slices are those of the current epoch only. The writer
 * has their values for the run so far, and gives them back at the end. Counters that can be added are always those of
 * the run.
 */
#ifndef HWI_PROFILE_EPOCHS_EPOCH_WRITER_H
#define HWI_PROFILE_EPOCHS_EPOCH_WRITER_H

#include "profile/counters/count_events.h"
#include "profile/epochs/epoch_changes.h"

/* Takes an epoch that ended. Returns false if it wants no more of them. */
struct hwi_epoch_sink {
  bool (*take)(void *context, struct hwi_epoch *epoch);
  uint64_t (*bytes)(void *context); /* how many bytes the epochs so far take in the file */
  void *context;
};

struct hwi_epoch_writer_plan {
  uint64_t event_count;  /* of the run, approximately */
  uint64_t epoch_events; /* an epoch has this many, and the others at the same tick as its last one */
  /* of all epochs in the file: if the epochs so far take more than their share, epochs get up to 4 times as long */
  uint64_t most_bytes;
};

struct hwi_epoch_writer {
  struct hwi_replay *replay;
  const struct hwi_replay_image *image;
  struct hwi_epoch_writer_plan plan;
  struct hwi_epoch_sink sink;
  bool gave_up;         /* the epochs cannot be used: the sink refused one, or one was too large */
  struct hwi_list rows; /* struct hwi_epoch_row, one for each epoch that ended */
  struct hwi_epoch_row row;
  struct hwi_epoch epoch;
  uint64_t wanted_events, events_before;
  uint64_t start_bytes, start_blocks; /* live */
  struct hwi_changes changes;
  struct hwi_timeline timeline;      /* of the run so far */
  struct hwi_class_timeline classes; /* likewise */
};

/* Creates the writer for a replay of the whole run that counts only this image and has not begun. Returns NULL if there
 * is no memory. */
struct hwi_epoch_writer *hwi_epoch_writer_create(struct hwi_replay *replay, const struct hwi_replay_image *image,
                                                 const struct hwi_epoch_writer_plan *plan,
                                                 const struct hwi_epoch_sink *sink);
void hwi_epoch_writer_destroy(struct hwi_epoch_writer *writer); /* may be NULL */

/* Returns how many of the next events, from the first one on, belong to one epoch; 0 if there is no memory. The caller
 * must apply these events. */
int hwi_epoch_writer_take(struct hwi_epoch_writer *writer, const struct hwi_resolved *events, int count);

/* To be called after the last event was applied. Returns false if there is no memory; then the replay cannot go on. */
bool hwi_epoch_writer_end(struct hwi_epoch_writer *writer);

#endif
