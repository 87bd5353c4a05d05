/* tune_text.h - what the texts of `tune` have in common: rows of a sum, and why a recording may not hold all of a run */
#ifndef HWI_TUNE_TUNE_TEXT_H
#define HWI_TUNE_TUNE_TEXT_H

#include "report/text/text.h"

enum { HWI_TUNE_AMOUNT_CELLS = 12, HWI_TUNE_SHARE_CELLS = 9, HWI_TUNE_GAP_CELLS = 2 };

/* Prints the row of a part of `all` bytes: its bytes, its share, and what it is. */
void hwi_tune_print_part(struct hwi_text *text, uint64_t bytes, uint64_t all, const char *what);

/* Returns whether the recording holds the whole run of the processes that are counted. */
bool hwi_tune_is_whole(const struct hwi_profile *profile);

/* Prints a warning if the recording does not hold the whole run. `consequence` is what that may mean: "the missing part
 * may ...". */
void hwi_tune_print_doubt(struct hwi_text *text, const char *consequence);

#endif
