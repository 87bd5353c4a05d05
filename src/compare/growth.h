/* growth.h - which stacks have more of a rule's figure than they had in the baseline */
#ifndef HWI_COMPARE_GROWTH_H
#define HWI_COMPARE_GROWTH_H

#include "compare/measure.h"
#include "compare/stack_path.h"

/* Of the second of two runs, by stack: by how much its part is larger than in the first one. Stacks that cannot be told apart
 * across runs count together, as that of them with the largest part. *growth is the caller's to free, and NULL where nothing
 * grew. HW_ERR_MEMORY. */
int hwi_growth_find(const struct hwi_measure *const measures[2], struct hwi_stack_paths *paths, uint64_t **growth);

#endif
