/* summary_parts.h - writes and reads the further data from which a part of the run can be computed with its epochs */
#ifndef HWI_PROFILE_SUMMARY_SUMMARY_PARTS_H
#define HWI_PROFILE_SUMMARY_SUMMARY_PARTS_H

#include "profile/result/result.h"
#include "profile/store/summary_pass.h"

/* Writes these data, or reads them after the result. Reading releases the result's lists and makes its replay know all
 * cells, stacks, sizes and threads of the run by the numbers that the epochs use, with nothing counted. */
void hwi_summary_pass_parts(struct hwi_pass *pass, struct hwi_result *result);

#endif
