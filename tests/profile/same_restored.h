/* same_restored.h - a profile restored from a summary equals that of a replay */
#ifndef HWI_TESTS_PROFILE_SAME_RESTORED_H
#define HWI_TESTS_PROFILE_SAME_RESTORED_H

#include "profile/profile.h"

/* Returns the profile's report, as text (`json` false) or JSON, without names of functions; malloc'd. */
char *report_of(const struct hwi_profile *profile, bool json);

/* Fails at the first difference. */
void assert_same_words(const char *text, const char *expected);

/* The profile was restored, not replayed. */
bool is_restored(const struct hwi_profile *profile);

/* Compares reports on the run at `path`: from a summary, they must be the same to the byte. `fresh` is a profile by
 * replay with `options`. The summary is made and removed here. */
void assert_same_restored(const struct hwi_profile *fresh, const char *path, struct hwi_profile_options options);

#endif
