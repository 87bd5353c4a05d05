/* timeline_columns.h - writes and reads the timelines of an epoch or a result */
#ifndef HWI_PROFILE_COLUMNS_TIMELINE_COLUMNS_H
#define HWI_PROFILE_COLUMNS_TIMELINE_COLUMNS_H

#include "profile/columns/pass.h"
#include "profile/counters/class_timeline.h"
#include "profile/counters/timeline.h"

/* The timelines of an epoch. Those that were read can be continued, and can be appended to others. */
void hwi_pass_timelines(struct hwi_pass *pass, struct hwi_timeline *timeline, struct hwi_class_timeline *classes);

/* The timelines of the profile, which are finished. `timeline` and `classes` have room for their points, and own
 * them. */
void hwi_pass_points(struct hwi_pass *pass, struct hwi_profile *profile, struct hwi_timeline *timeline,
                     struct hwi_class_timeline *classes);

#endif
