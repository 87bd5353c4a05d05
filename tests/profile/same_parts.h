/* same_parts.h - parts of a run that are made of its epochs say what a replay says */
#ifndef HWI_TESTS_PROFILE_SAME_PARTS_H
#define HWI_TESTS_PROFILE_SAME_PARTS_H

#include <stdint.h>

#include "profile/profile.h"

/* Keeps a summary of the recording at `path` with epochs of that many events, and compares, text and JSON, some random intervals and
 * moments. Returns how many of them were made of epochs. The summary goes. */
int assert_same_parts(const char *path, struct hwi_profile_options options, uint64_t epoch_events,
                      uint32_t (*below)(uint32_t limit));

#endif
