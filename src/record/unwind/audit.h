/* audit.h - compares a spliced stack with full walks */
#ifndef HWI_RECORD_UNWIND_AUDIT_H
#define HWI_RECORD_UNWIND_AUDIT_H

#include <stdbool.h>

#include "record/lane.h"
#include "record/record.h"
#include "record/unwind/step.h"

/* To be called when `walk` ended as HWI_WALK_MET. Walks the stack again without the cached stack, and under
 * HEAPWRIGHT_CHECK a third time with the CFI interpreter instead of rows. Counts the audit and any difference. Returns
 * false if the walks differ. Does not change `walk` and the fresh frames. */
bool hwi_audit_is_same(struct hwi_lane *lane, const struct hwi_caller *caller, struct hwi_walk *walk);

#endif
