/* replayer.h - the events of a recording, once more, for what needs them in order: no profile keeps them */
#ifndef HWI_REPORT_REPLAYER_H
#define HWI_REPORT_REPLAYER_H

#include "profile/profile.h"

/* Replays the recording that a profile was made from for `sink`; errors are those of hwi_profile_events. */
struct hwi_replayer {
  int (*run)(void *context, const struct hwi_block_sink *sink, struct hwi_error *error); /* NULL: it cannot be had */
  void *context;
};

/* Where the profile's span begins and ends, since the run's start. Of a moment both are the moment. */
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

/* Hands the events on from the run's beginning to the end of the profile's span, of which those before its start only tell what is
 * live then. Ends where the profile's own reading did, should the recording have grown since. Not for moments. 0 or a negative
 * status; that `sink` wants no more is none. */
int hwi_replayer_run(const struct hwi_replayer *replayer, const struct hwi_profile *profile,
                     const struct hwi_block_sink *sink, struct hwi_error *error);

#endif
