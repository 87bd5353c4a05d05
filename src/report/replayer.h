/* replayer.h - replays the events of a recording, for code that needs them in order: a profile does not keep them */
#ifndef HWI_REPORT_REPLAYER_H
#define HWI_REPORT_REPLAYER_H

#include "profile/profile.h"

/* Replays the recording that a profile was made from for `sink`; errors are those of hwi_profile_events. */
struct hwi_replayer {
  int (*run)(void *context, const struct hwi_block_sink *sink, struct hwi_error *error); /* NULL: not available */
  void *context;
};

/* When the profile's span begins and ends, since the run's start. For a moment, both are the moment. */
static inline uint64_t hwi_profile_from_ns(const struct hwi_profile *profile)
{
  return profile->span.kind == HWI_SPAN_RUN ? 0 : profile->span.from_ns;
}

static inline uint64_t hwi_profile_end_ns(const struct hwi_profile *profile)
{
  const struct hwi_span *span = &profile->span;
  return span->kind == HWI_SPAN_RUN      ? profile->duration_ns
         : span->kind == HWI_SPAN_MOMENT ? span->from_ns
                                         : span->to_ns;
}

/* Passes the events to `sink` from the run's beginning to the end of the profile's span; those before the span only
 * show which blocks are live at its start. It ends where the profile ended, even if the recording has grown since.
 * Not for moments of a recording; of a heap that was read from memory, each live block is an event. Returns 0 or a negative status; it is no error if `sink` wants no more. */
int hwi_replayer_run(const struct hwi_replayer *replayer, const struct hwi_profile *profile,
                     const struct hwi_block_sink *sink, struct hwi_error *error);

#endif
