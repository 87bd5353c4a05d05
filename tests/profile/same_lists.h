/* same_lists.h - holds the lists of a profile that are no sums over cells against the naive model */
#ifndef HWI_TESTS_PROFILE_SAME_LISTS_H
#define HWI_TESTS_PROFILE_SAME_LISTS_H

#include "naive.h"
#include "profile/profile.h"

/* `nodes`: by stack. Fails the test where a figure differs, or is missing, or is there and should not be. */
void assert_same_lists(const struct hwi_profile *profile, const struct naive *naive, const uint32_t *nodes);

#endif
