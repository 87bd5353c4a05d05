/* epoch_sum.h - adds the changes of an epoch to the counters of a replay that has reached its start */
#ifndef HWI_PROFILE_EPOCHS_EPOCH_SUM_H
#define HWI_PROFILE_EPOCHS_EPOCH_SUM_H

#include "profile/counters/replay.h"
#include "profile/epochs/epoch.h"

/* Returns whether every number in the epoch belongs to a run that has as many cells, stacks, sizes and threads as the
 * row says. */
bool hwi_epoch_is_sound(const struct hwi_epoch *epoch, const struct hwi_epoch_row *row);

/* Goes on from the start of the epoch to its end, as if its events had been applied, except for the peak and the table
 * of live blocks. `counts`: the epoch is within the span; else only live blocks and the state that later events need
 * are updated. The epoch must be sound. Returns false if there is no memory. */
bool hwi_epoch_add(struct hwi_replay *replay, struct hwi_replay_image *image, const struct hwi_epoch *epoch,
                   const struct hwi_epoch_row *row, bool counts);

#endif
