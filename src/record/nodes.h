/* nodes.h - the tree of stacks: (caller's node, address, module, entry) -> node number */
#ifndef HWI_RECORD_NODES_H
#define HWI_RECORD_NODES_H

#include <stdbool.h>
#include <stdint.h>

#include "record/lane.h"

/* In place of a number: the table is full or the trace is. Below it everything is unknown, too. */
#define HWI_NODE_UNKNOWN UINT32_MAX

/* Makes the tree empty; once an image. */
void hwi_nodes_init(void);

/* The number of the node, made and written to the lane where it is new. Never 0, but perhaps
 * HWI_NODE_UNKNOWN. `entry` is an enum hw_entry, or HW_NODE_CUT with the count of frames as `address`. Lock-free;
 * async-signal-safe. */
uint32_t hwi_nodes_find(struct hwi_lane *lane, uint32_t parent, uintptr_t address, uint32_t module, uint8_t entry);

/* The same where it is cheap: if the node is the one after its parent, or its parent has no child yet. 0: it is not. */
uint32_t hwi_nodes_follow(struct hwi_lane *lane, uint32_t parent, uintptr_t address, uint32_t module, uint8_t entry);

/* How many numbers were given so far: what a forked child inherits. */
uint32_t hwi_nodes_count(void);

#endif
