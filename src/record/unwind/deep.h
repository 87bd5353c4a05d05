/* deep.h - the nodes of stacks that are deeper than the limit */
#ifndef HWI_RECORD_UNWIND_DEEP_H
#define HWI_RECORD_UNWIND_DEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "record/lane.h"

/* A stack that is too deep: the first `base` of the lane's cached frames, then perhaps a gap, then the fresh ones. */
struct hwi_deep {
  uint32_t base, fresh_count;
  bool has_gap;      /* among the cached frames, or between them and the fresh ones */
  uint32_t left_out; /* frames in the gap; 0: unknown */
};

/* Returns its node: the outermost frames (if they are known), a cut, and the innermost frames, with `entry` called from
 * the last. */
uint32_t hwi_deep_node(struct hwi_lane *lane, const struct hwi_deep *deep, uint8_t entry);

#endif
