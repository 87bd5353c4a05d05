/* growth.h - which stacks increased a rule's figure compared with the baseline */
#ifndef HWI_COMPARE_GROWTH_H
#define HWI_COMPARE_GROWTH_H

#include "compare/measure.h"
#include "compare/stack_path.h"

/* Finds, for each stack of the second run, how much larger its part is than in the first run. Stacks that cannot be
 * distinguished across runs count together, for the one with the largest part. The caller frees *growth, which is NULL
 * if nothing grew. Returns 0 or HW_ERR_MEMORY. */
int hwi_growth_find(const struct hwi_measure *const measures[2], struct hwi_stack_paths *paths, uint64_t **growth);

#endif
