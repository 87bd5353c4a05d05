/* tips.h - inner ends of stacks that a lane has walked, to be found again without a walk
 *
 * tip        the frames of a stack that its walk did not find among the kept ones, and the kept one that they begin at: its
 *            stem. X is not Y: the kept stack is the one before; tips are of many stacks that came earlier.
 */
#ifndef HWI_RECORD_TIPS_H
#define HWI_RECORD_TIPS_H

#include <stdbool.h>
#include <stdint.h>

#include "record/lane.h"
#include "record/record.h"
#include "record/step.h"

/* Is the stack one whose tip is remembered, on a stem that is kept and unchanged? Then it becomes the kept stack, and the result
 * is its node for `entry`; else 0. walk->met and walk->is_checked say what was found out about the kept one in any case. */
uint32_t hwi_tips_take(struct hwi_lane *lane, const struct hwi_caller *caller, uint8_t entry, struct hwi_walk *walk);

/* Where the kept stack goes on with a tip, that tip's frames become kept ones, and walk->met counts them, too. */
void hwi_tips_settle(struct hwi_lane *lane, struct hwi_walk *walk);

/* Remembers the inner end of the kept stack, which is within the limit and has all its nodes: all but its `base` outermost
 * frames. `base` is not 0. */
void hwi_tips_add(struct hwi_lane *lane, uint32_t base);

/* Forgets all tips. */
void hwi_tips_drop(struct hwi_lane *lane);

#endif
