/* summary_parts.h - what a summary keeps beside a result, so that a part of the run can be made of its epochs */
#ifndef HWI_PROFILE_SUMMARY_PARTS_H
#define HWI_PROFILE_SUMMARY_PARTS_H

#include "profile/result.h"
#include "profile/summary_pass.h"

/* Writes it, or reads it behind the result: then the result's lists go, and its replay knows all cells, stacks, sizes and threads
 * of the run by the numbers that the epochs have for them, with nothing counted. */
void hwi_summary_pass_parts(struct hwi_pass *pass, struct hwi_result *result);

#endif
