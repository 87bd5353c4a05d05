/* span_replay.h - computes a part of a run from its epochs */
#ifndef HWI_PROFILE_SUMMARY_SPAN_REPLAY_H
#define HWI_PROFILE_SUMMARY_SPAN_REPLAY_H

#include "profile/epochs/epoch_file.h"
#include "profile/result/result.h"

struct hwi_span_request {
  struct hwi_span span; /* an interval or a moment */
  uint64_t expected_ns; /* as for hwi_replay_init */
  const struct hwi_epoch_file *file;
  uint32_t image; /* the counted image, which began with the run */
};

/* For a result that was restored from a summary with epochs: makes its replay exactly that of the span, and *totals
 * those of the image. Takes ownership of the trace, also on failure. Returns 0, or a negative hw_error: then the result
 * cannot be used any more (its summary was damaged, or memory or the file failed), and the caller can still replay the
 * run. */
int hwi_span_replay(struct hwi_result *result, const struct hwi_span_request *request, struct hwi_trace *trace,
                    struct hwi_totals *totals);

#endif
