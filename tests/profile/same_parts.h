/* same_parts.h - parts of a run that are made from its epochs equal those of a replay */
#ifndef HWI_TESTS_PROFILE_SAME_PARTS_H
#define HWI_TESTS_PROFILE_SAME_PARTS_H

#include <stdint.h>

#include "profile/profile.h"

/* Writes a summary of the recording at `path` with epochs of that many events, and compares some random intervals and
 * moments, as text and JSON. Returns how many of them were made from epochs. The summary is removed. */
int assert_same_parts(const char *path, struct hwi_profile_options options, uint64_t epoch_events,
                      uint32_t (*below)(uint32_t limit));

#endif
