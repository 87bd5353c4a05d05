/* summary_replay.h - what a summary keeps of a replay that has seen its last event */
#ifndef HWI_PROFILE_SUMMARY_REPLAY_H
#define HWI_PROFILE_SUMMARY_REPLAY_H

#include "profile/result.h"
#include "profile/summary_pass.h"

/* Writes the result's replay and threads, or reads them into a result in which both are all zero; hwi_result_fill makes the
 * rest of them, as of a replay. What was read is sound: no index leaves its list, and the cells add up to the replay's own
 * figures. */
void hwi_summary_pass_replay(struct hwi_pass *pass, struct hwi_result *result);

/* Slices and moments; those that are read can go on, and be put behind others. */
void hwi_summary_pass_timelines(struct hwi_pass *pass, struct hwi_timeline *timeline,
                                struct hwi_class_timeline *classes);

#endif
