/* audit.h - compares a spliced stack with full walks */
#ifndef HWI_RECORD_AUDIT_H
#define HWI_RECORD_AUDIT_H

#include <stdbool.h>

#include "record/lane.h"
#include "record/record.h"
#include "record/step.h"

/* `walk` ended HWI_WALK_MET. Walks the stack again without the kept one, and under HEAPWRIGHT_CHECK a third time with the CFI
 * interpreter in place of rows; counts the audit and a difference. False: they differ. Keeps walk and the fresh frames. */
bool hwi_audit_is_same(struct hwi_lane *lane, const struct hwi_caller *caller, struct hwi_walk *walk);

#endif
