/* same_totals.h - holds a replay for the totals alone against a full one */
#ifndef HWI_TESTS_PROFILE_SAME_TOTALS_H
#define HWI_TESTS_PROFILE_SAME_TOTALS_H

#include "profile/profile.h"

/* Replays `path` once more with the options of `full`, and asserts that every figure of the run and of its images is the same. */
void assert_same_totals(const struct hwi_profile *full, const char *path, struct hwi_profile_options options);

#endif
