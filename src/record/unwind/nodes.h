/* nodes.h - the tree of stacks: (caller's node, address, module, entry) -> node ID */
#ifndef HWI_RECORD_UNWIND_NODES_H
#define HWI_RECORD_UNWIND_NODES_H

#include <stdbool.h>
#include <stdint.h>

#include "record/lane.h"

/* Instead of an ID: the table or the trace is full. All nodes below it are unknown as well. */
#define HWI_NODE_UNKNOWN UINT32_MAX

/* Makes the tree empty; once per image. */
void hwi_nodes_init(void);

/* Returns the ID of the node. A new node is created and written to the lane. Never 0, but may be HWI_NODE_UNKNOWN.
 * `entry` is an enum hw_entry, or HW_NODE_CUT with the count of frames as `address`. Lock-free; async-signal-safe. */
uint32_t hwi_nodes_find(struct hwi_lane *lane, uint32_t parent, uintptr_t address, uint32_t module, uint8_t entry);

/* The same in the cheap cases: the node directly follows its parent in the table, or the parent has no child yet.
 * Returns 0 in all other cases. */
uint32_t hwi_nodes_follow(struct hwi_lane *lane, uint32_t parent, uintptr_t address, uint32_t module, uint8_t entry);

/* Returns the number of IDs assigned so far; a forked child inherits them. */
uint32_t hwi_nodes_count(void);

#endif
