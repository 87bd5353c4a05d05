/* same_lists.h - compares the lists of a profile that are not sums over cells with the naive model */
#ifndef HWI_TESTS_PROFILE_SAME_LISTS_H
#define HWI_TESTS_PROFILE_SAME_LISTS_H

#include "naive.h"
#include "profile/profile.h"

/* `nodes`: by stack. Fails the test if a figure differs, is missing, or should not be there. */
void assert_same_lists(const struct hwi_profile *profile, const struct naive *naive, const uint32_t *nodes);

#endif
