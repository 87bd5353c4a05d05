/* epoch_sum.h - adds what happened in an epoch to the counters of a replay that stands at its start */
#ifndef HWI_PROFILE_EPOCH_SUM_H
#define HWI_PROFILE_EPOCH_SUM_H

#include "profile/epoch.h"
#include "profile/replay.h"

/* Whether every number in the epoch is one of a run that has what the row says. */
bool hwi_epoch_is_sound(const struct hwi_epoch *epoch, const struct hwi_epoch_row *row);

/* Goes on from the start of the epoch to its end, as if its events had been applied, but for the peak and the table of live
 * blocks. `counts`: within the span; else only what is live, and what later events are judged by. The epoch is sound. False:
 * no memory. */
bool hwi_epoch_add(struct hwi_replay *replay, struct hwi_replay_image *image, const struct hwi_epoch *epoch,
                   const struct hwi_epoch_row *row, bool counts);

#endif
