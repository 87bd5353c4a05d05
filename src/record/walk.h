/* walk.h - from the frame that called an entry point to the node of its whole stack */
#ifndef HWI_RECORD_WALK_H
#define HWI_RECORD_WALK_H

#include <stdint.h>

#include "record/lane.h"
#include "record/record.h"

/* The node of the stack whose innermost frame is `caller`, with `entry` called from it. New nodes and modules are written to
 * the lane. 0: unknown (the trace or a table is full). Leaves the stack as the lane's kept one. Never faults, whatever the
 * stack holds; async-signal-safe. */
uint32_t hwi_walk(struct hwi_lane *lane, const struct hwi_caller *caller, uint8_t entry);

/* Forgets the kept stack: it may not be spliced with any more. */
void hwi_walk_forget(struct hwi_lane *lane);

#endif
