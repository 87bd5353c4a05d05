/* stack_cache.h - cached inner ends of stacks that a lane has walked, which can be found again without a walk
 *
 * tip        the frames of a stack that its walk did not find among the kept frames, and the kept frame where they
 *            begin, its stem. Do not confuse: the kept stack is the previous stack; tips are from many earlier stacks.
 */
#ifndef HWI_RECORD_UNWIND_STACK_CACHE_H
#define HWI_RECORD_UNWIND_STACK_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "record/lane.h"
#include "record/record.h"
#include "record/unwind/cached_stack.h"

enum { HWI_STACK_END_FRAMES = 12, HWI_STACK_END_PAIRS = 128 };

/* Invariant: the kept frames have room for its frames, as room never shrinks. */
struct hwi_stack_end {
  uintptr_t pc, sp;    /* of the last frame, where a walk would begin; sp 0: no tip */
  uint32_t base;       /* number of kept frames that it continues; the stem is the last of them */
  uint32_t outer_node; /* of the stem's caller; 0: the stem is the outermost frame */
  uint32_t count;      /* frames, stem included */
  uint32_t bps_from;   /* no frame before this one has a bp_slot, except the stem; `count`: none has */
  uint8_t entry;       /* the entry of the last frame's node */
  struct hwi_walked_frame frames[HWI_STACK_END_FRAMES];
};

struct hwi_stack_end_pair {
  struct hwi_stack_end tips[2];
  uint32_t latest; /* which of the two was taken or added last */
};

/* If the stack's tip is cached, and its stem is kept and unchanged, makes the stack the kept one and returns its node
 * for `entry`; else returns 0. Updates *unchanged (see cached_stack.h). A tip is in one of two places: this function
 * looks at the one used last, the next function at the other. */
static inline __attribute__((always_inline)) uint32_t hwi_stack_cache_take(struct hwi_lane *lane,
                                                                           struct hwi_caller caller, uint8_t entry,
                                                                           uint32_t *unchanged);
uint32_t hwi_stack_cache_take_other(struct hwi_lane *lane, struct hwi_caller caller, uint8_t entry,
                                    uint32_t *unchanged);

/* If the kept stack continues with a tip, that tip's frames become kept frames, and *unchanged is updated. */
void hwi_stack_cache_settle(struct hwi_lane *lane, uint32_t *unchanged);

/* Caches the inner end of the kept stack: all but its `base` outermost frames. The stack is within the limit and has
 * all its nodes. `base` is not 0. */
void hwi_stack_cache_add(struct hwi_lane *lane, uint32_t base);

/* Forgets all tips. */
void hwi_stack_cache_drop(struct hwi_lane *lane);

/* --- how a tip is taken, in full: it is on the hot path --- */

/* Returns the pair of places where a tip may be. */
static inline struct hwi_stack_end_pair *hwi_stack_cache_pair(struct hwi_stack_end_pair *pairs, uintptr_t pc,
                                                              uintptr_t sp)
{
  enum { SP_SHIFT = 20 };
  uint64_t key = (pc ^ sp << SP_SHIFT) * UINT64_C(0x9e3779b97f4a7c15);
  return &pairs[(key >> 40) % HWI_STACK_END_PAIRS];
}

static inline uint32_t hwi_stack_cache_outer_node(const struct hwi_cached_stack *kept, uint32_t base)
{
  return base > 1 ? kept->frames[base - 2].node : 0;
}

static inline bool hwi_stack_cache_is_on_stem(const struct hwi_cached_stack *kept, const struct hwi_stack_end *tip)
{
  const struct hwi_walked_frame *stem = &tip->frames[0];
  return hwi_cached_stack_is_at(&kept->frames[tip->base - 1], stem->pc, stem->sp, stem->bp) &&
         hwi_stack_cache_outer_node(kept, tip->base) == tip->outer_node;
}

/* Returns whether the kept frames up to the stem are unchanged. Some of them may already be known to be. */
bool hwi_stack_cache_find_out(const struct hwi_cached_stack *kept, uint32_t base, uint32_t *unchanged);

static inline __attribute__((always_inline)) bool hwi_stack_cache_is_stem_unchanged(const struct hwi_cached_stack *kept,
                                                                                    uint32_t base, uint32_t *unchanged)
{
  if (__builtin_expect(*unchanged != HWI_AT_LEAST, 0))
    return hwi_stack_cache_find_out(kept, base, unchanged);
  uint32_t known = hwi_cached_stack_unchanged(kept, 0, base);
  *unchanged = known == base ? known | HWI_AT_LEAST : known;
  return known == base;
}

static inline bool hwi_stack_cache_is_unchanged(const struct hwi_stack_end *tip)
{
  uintptr_t other = 0;
  for (uint32_t i = tip->bps_from; i < tip->count; i++)
    if (tip->frames[i].bp_slot != HWI_NO_BP_SLOT)
      other |= hwi_cached_stack_bp_difference(&tip->frames[i]);
  return !other && hwi_frames_pcs_unchanged(tip->frames, 1, tip->count) == tip->count;
}

/* Makes the kept stack continue with the tip. */
static inline void hwi_stack_cache_put_on(struct hwi_cached_stack *kept, struct hwi_stack_end *tip)
{
  while (__builtin_expect(kept->odd.count && kept->odd.items[kept->odd.count - 1].frame >= tip->base, 0))
    kept->odd.count--;
  hwi_cached_stack_drop_bps(kept, tip->base);
  kept->frames[tip->base - 1].node = tip->frames[0].node; /* it may have been a node for an entry */
  kept->frame_count = tip->base;
  kept->leaf = HWI_NO_LEAF;
  kept->tip = tip;
}

/* The same for one tip. */
static inline __attribute__((always_inline)) uint32_t hwi_stack_cache_take_this(struct hwi_lane *lane,
                                                                                struct hwi_stack_end *tip,
                                                                                struct hwi_caller caller, uint8_t entry,
                                                                                uint32_t *unchanged)
{
  struct hwi_cached_stack *kept = &lane->kept;
  if (tip->sp != caller.sp || tip->pc != caller.pc || tip->entry != entry)
    return 0;
  struct hwi_walked_frame *last = &tip->frames[tip->count - 1];
  if (last->bp != caller.bp && !last->bp_is_free)
    return 0;
  if (tip->base > kept->frame_count) {
    hwi_stack_cache_settle(lane, unchanged);
    if (tip->base > kept->frame_count)
      return 0;
  }
  if (!hwi_stack_cache_is_on_stem(kept, tip) || !hwi_stack_cache_is_stem_unchanged(kept, tip->base, unchanged) ||
      !hwi_stack_cache_is_unchanged(tip))
    return 0;
  hwi_stack_cache_put_on(kept, tip);
  last->bp = caller.bp;
  *unchanged = tip->base;
  return last->node;
}

static inline __attribute__((always_inline)) uint32_t hwi_stack_cache_take(struct hwi_lane *lane,
                                                                           struct hwi_caller caller, uint8_t entry,
                                                                           uint32_t *unchanged)
{
  if (__builtin_expect(!lane->tips || lane->kept.gap_at != HWI_NO_GAP, 0))
    return 0;
  struct hwi_stack_end_pair *pair = hwi_stack_cache_pair(lane->tips, caller.pc, caller.sp);
  return hwi_stack_cache_take_this(lane, &pair->tips[pair->latest], caller, entry, unchanged);
}

#endif
