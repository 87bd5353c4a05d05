/* same_events.h - compares the events that a replay reports with the profile that it makes */
#ifndef HWI_TESTS_PROFILE_SAME_EVENTS_H
#define HWI_TESTS_PROFILE_SAME_EVENTS_H

#include "profile/profile.h"

/* Replays `path` again with the options of `full` and a sink. Asserts that the sums over the events, in total and by
 * stack and thread, equal the profile, within the span of the options. */
void assert_same_events(const struct hwi_profile *full, const char *path, struct hwi_profile_options options);

#endif
