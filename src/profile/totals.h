/* totals.h - events into totals alone: what hwi_replay_apply counts, without stacks, sizes, threads and the timeline */
#ifndef HWI_PROFILE_TOTALS_H
#define HWI_PROFILE_TOTALS_H

#include "profile/replay.h"

/* As hwi_replay_apply. An image is replayed by the one or by the other from its beginning to its end. */
bool hwi_totals_apply(struct hwi_replay *replay, struct hwi_replay_image *image, const struct hwi_event *events,
                      int count);

/* As hwi_replay_end_image. */
void hwi_totals_end_image(struct hwi_replay *replay, struct hwi_replay_image *image, uint64_t ns, bool leaves);

/* For hwi_trace_set_liveness; the context is the struct hwi_replay_image. */
bool hwi_totals_is_live(void *context, uint64_t address);

#endif
