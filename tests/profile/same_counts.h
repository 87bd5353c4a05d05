/* same_counts.h - compares the counts of single traces with a full replay */
#ifndef HWI_TESTS_PROFILE_SAME_COUNTS_H
#define HWI_TESTS_PROFILE_SAME_COUNTS_H

#include "profile/counters/totals.h"
#include "profile/profile.h"

void assert_counts_are(const struct hwi_counts *counts, const struct hwi_totals *totals);

/* Counts every image that `full` counted, and asserts that every figure is the same. */
void assert_same_counts(const struct hwi_profile *full);

#endif
