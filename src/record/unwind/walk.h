/* walk.h - from the frame that called an entry point to the node of its whole stack */
#ifndef HWI_RECORD_UNWIND_WALK_H
#define HWI_RECORD_UNWIND_WALK_H

#include <stdint.h>

#include "record/lane.h"
#include "record/record.h"
#include "record/unwind/cached_stack.h"
#include "record/unwind/stack_cache.h"

/* Returns the node of the stack whose innermost frame is `caller`, with `entry` called from it, or HWI_NODE_UNKNOWN if
 * the trace or a table is full. New nodes and modules are written to the lane. The stack becomes the lane's cached
 * stack. Never faults, whatever the stack contains; async-signal-safe. */
uint32_t hwi_walk(struct hwi_lane *lane, const struct hwi_caller *caller, uint8_t entry);

/* Does the same. The code for stacks that were seen before is inlined into the caller. */
static inline __attribute__((always_inline)) uint32_t hwi_walk_quickly(struct hwi_lane *lane, struct hwi_caller caller,
                                                                       uint8_t entry);

/* Forgets the cached stack: the next walk starts without it. */
void hwi_walk_forget(struct hwi_lane *lane);

/* --- stacks that were seen before, in full: the hot path --- */

/* Returns the node of a stack that hwi_walk_known did not find; `unchanged`: see cached_stack.h. */
uint32_t hwi_walk_slow(struct hwi_lane *lane, struct hwi_caller caller, uint8_t entry, struct hwi_unchanged unchanged);

/* Returns the node of a stack, and compares its splice with full walks (an audit). */
uint32_t hwi_walk_audited(struct hwi_lane *lane, struct hwi_caller caller, uint8_t entry);

/* Returns the node if the stack is the same as the previous one (a loop that allocates), else 0. A cached frame with
 * the caller's sp is in the lane's range, as all cached frames are. */
static inline __attribute__((always_inline)) uint32_t hwi_walk_same(struct hwi_lane *lane, struct hwi_caller caller,
                                                                    uint8_t entry, struct hwi_unchanged *unchanged)
{
  struct hwi_cached_stack *cached = &lane->cached;
  uint32_t count = cached->frame_count;
  if (cached->leaf + 1 != count || cached->leaf_entry != entry)
    return 0;
  struct hwi_walked_frame *last = &cached->frames[count - 1];
  if (!hwi_cached_stack_is_at(last, caller.pc, caller.sp, caller.bp))
    return 0;
  *unchanged = (struct hwi_unchanged){hwi_cached_stack_unchanged(cached, 0, count), true};
  last->bp = caller.bp;
  return __builtin_expect(unchanged->count == count, 1) ? last->node : 0;
}

/* Returns the node of a stack that was seen before, or 0 if it was not, or was forgotten. Updates *unchanged (see
 * cached_stack.h). */
static inline __attribute__((always_inline)) uint32_t hwi_walk_known(struct hwi_lane *lane, struct hwi_caller caller,
                                                                     uint8_t entry, struct hwi_unchanged *unchanged)
{
  uint32_t node = hwi_walk_same(lane, caller, entry, unchanged);
  if (node || caller.sp < lane->range.low || caller.sp >= lane->range.high)
    return node;
  return hwi_stack_cache_take(lane, caller, entry, unchanged);
}

static inline __attribute__((always_inline)) uint32_t hwi_walk_quickly(struct hwi_lane *lane, struct hwi_caller caller,
                                                                       uint8_t entry)
{
  if (__builtin_expect(--lane->walks_until_audit < 0, 0))
    return hwi_walk_audited(lane, caller, entry);
  struct hwi_unchanged unchanged = {0};
  uint32_t node = hwi_walk_known(lane, caller, entry, &unchanged);
  return __builtin_expect(node != 0, 1) ? node : hwi_walk_slow(lane, caller, entry, unchanged);
}

#endif
