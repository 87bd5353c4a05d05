/* same_events.h - holds the events that a replay tells of against the profile that it makes */
#ifndef HWI_TESTS_PROFILE_SAME_EVENTS_H
#define HWI_TESTS_PROFILE_SAME_EVENTS_H

#include "profile/profile.h"

/* Replays `path` once more with the options of `full` and a sink, and asserts that what the events add up to, over all and by
 * stack and thread, is the profile; within the span of the options. */
void assert_same_events(const struct hwi_profile *full, const char *path, struct hwi_profile_options options);

#endif
