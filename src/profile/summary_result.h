/* summary_result.h - what a summary keeps of a result */
#ifndef HWI_PROFILE_SUMMARY_RESULT_H
#define HWI_PROFILE_SUMMARY_RESULT_H

#include "profile/result.h"
#include "profile/summary_pass.h"

/* Writes what hwi_result_fill made, or reads it into a result in which it is all zero; hwi_result_sum_up makes the rest. What
 * was read is sound: no index leaves its list, and the cells add up to the peak. */
void hwi_summary_pass_result(struct hwi_pass *pass, struct hwi_result *result);

#endif
