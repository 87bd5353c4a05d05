/* summary_result.h - writes and reads the lists of a result in a summary */
#ifndef HWI_PROFILE_SUMMARY_SUMMARY_RESULT_H
#define HWI_PROFILE_SUMMARY_SUMMARY_RESULT_H

#include "profile/columns/pass.h"
#include "profile/result/result.h"

/* Writes the lists that hwi_result_fill made, or reads them into a result in which they are all zero; hwi_result_sum_up
 * makes the rest. Lists that were read are sound: no index is out of range, and the cells add up to the peak. */
void hwi_summary_pass_result(struct hwi_pass *pass, struct hwi_result *result);

#endif
