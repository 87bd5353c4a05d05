/* summary_timelines.h - slices and moments along time, as an epoch or a result has them */
#ifndef HWI_PROFILE_SUMMARY_TIMELINES_H
#define HWI_PROFILE_SUMMARY_TIMELINES_H

#include "profile/result.h"
#include "profile/summary_pass.h"

/* Of an epoch: those that are read can go on, and be put behind others. */
void hwi_summary_pass_timelines(struct hwi_pass *pass, struct hwi_timeline *timeline,
                                struct hwi_class_timeline *classes);

/* Those of the profile, which have ended; the result has room for them. */
void hwi_summary_pass_points(struct hwi_pass *pass, struct hwi_result *result);

#endif
