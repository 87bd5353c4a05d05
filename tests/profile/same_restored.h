/* same_restored.h - a profile restored from a summary says what a replay says */
#ifndef HWI_TESTS_PROFILE_SAME_RESTORED_H
#define HWI_TESTS_PROFILE_SAME_RESTORED_H

#include "profile/profile.h"

/* The profile's report, in text (`json` false) or JSON, without names of functions; malloc'd. */
char *report_of(const struct hwi_profile *profile, bool json);

/* Fails where they differ first. */
void assert_same_words(const char *text, const char *expected);

/* It was restored, not replayed. */
bool is_restored(const struct hwi_profile *profile);

/* Reports on the run at `path`, of which `fresh` is a profile by replay and `options` what was asked, are the same to the byte
 * when they come from a summary. It is made and removed here. */
void assert_same_restored(const struct hwi_profile *fresh, const char *path, struct hwi_profile_options options);

#endif
