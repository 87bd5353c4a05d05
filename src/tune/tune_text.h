/* tune_text.h - what the texts of `tune` have in common: rows of a sum, and why a recording may not hold all of a run */
#ifndef HWI_TUNE_TUNE_TEXT_H
#define HWI_TUNE_TUNE_TEXT_H

#include "report/text/text.h"

enum { HWI_TUNE_AMOUNT_CELLS = 12, HWI_TUNE_SHARE_CELLS = 9, HWI_TUNE_GAP_CELLS = 2 };

/* Prints the row of a part of `all` bytes: its bytes, its share, and what it is. */
void hwi_tune_print_part(struct hwi_text *text, uint64_t bytes, uint64_t all, const char *what);

/* Returns whether the recording holds the whole run of the processes that are counted. */
bool hwi_tune_is_whole(const struct hwi_profile *profile);

/* For a recording that does not hold the whole run: the sentence that says so, and what that may mean. */
#define HWI_TUNE_DOUBT(consequence) "The recording does not hold the whole run: the missing part may " consequence "."
#define HWI_TUNE_POOL_DOUBT HWI_TUNE_DOUBT("need a larger pool")
#define HWI_TUNE_CLASSES_DOUBT HWI_TUNE_DOUBT("have other sizes")

/* Prints such a sentence if it is so. */
void hwi_tune_print_doubt(struct hwi_text *text, const char *doubt);

#endif
