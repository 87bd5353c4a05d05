/* span_replay.h - computes a part of a run from its epochs */
#ifndef HWI_PROFILE_REPLAY_SPAN_REPLAY_H
#define HWI_PROFILE_REPLAY_SPAN_REPLAY_H

#include "profile/epochs/epoch.h"
#include "profile/replay/run_replay.h"

/* For a result that hwi_summary_load_epochs restored: makes its replay exactly that of the span in the options, and the
 * totals in run->images those of the span. Returns 0, or a negative status (the summary is damaged, or memory or the
 * file failed): then the result and the images are empty again, and the caller can still replay the run. */
int hwi_span_replay(struct hwi_run_replay *run, const struct hwi_epoch_file *file);

#endif
