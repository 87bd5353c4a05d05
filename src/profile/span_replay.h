/* span_replay.h - a part of a run out of its epochs */
#ifndef HWI_PROFILE_SPAN_REPLAY_H
#define HWI_PROFILE_SPAN_REPLAY_H

#include "profile/epoch_file.h"
#include "profile/result.h"

struct hwi_span_request {
  struct hwi_span span; /* an interval or a moment */
  uint64_t expected_ns; /* as hwi_replay_init has it */
  const struct hwi_epoch_file *file;
  uint32_t image; /* the one that is counted, and began with the run */
};

/* Of a result that was restored from a summary with epochs: makes its replay that of the span, to the last number, and *totals
 * those of the image. Takes the trace over, also on failure. 0 or negative: then the result is of no use any more (its summary
 * was no good, or memory or the file failed), and nothing is lost but time. */
int hwi_span_replay(struct hwi_result *result, const struct hwi_span_request *request, struct hwi_trace *trace,
                    struct hwi_totals *totals);

#endif
