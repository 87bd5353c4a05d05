/* block_events.h - a replay that tells a consumer of every event, with the block that it is about */
#ifndef HWI_PROFILE_BLOCK_EVENTS_H
#define HWI_PROFILE_BLOCK_EVENTS_H

#include "profile/replay.h"

enum hwi_told {
  HWI_TOLD = 1,
  HWI_TOLD_STOP = 0,       /* the consumer wants no more */
  HWI_TOLD_NO_MEMORY = -1, /* for the replay */
};

/* hwi_replay_apply, one event at a time, each told to the replay's sink. */
enum hwi_told hwi_block_events_apply(struct hwi_replay *replay, struct hwi_replay_image *image, uint32_t image_number,
                                     const struct hwi_event *events, int count);

/* Before an image ends whose blocks leave the run's sum: tells of each of them. False: the consumer wants no more. */
bool hwi_block_events_leave(const struct hwi_replay *replay, const struct hwi_replay_image *image,
                            uint32_t image_number, uint64_t ns);

#endif
