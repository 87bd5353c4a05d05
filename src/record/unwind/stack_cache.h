/* stack_cache.h - the inner ends of many earlier stacks of a lane, so that such a stack is found again without a walk
 *
 * stack end  the frames of a stack that its walk did not find in the cached stack, and the frame where they were joined
 *            to the cached stack, which is the stem.
 * stem       the frame of the cached stack at which a stack end begins.
 *
 * Do not confuse: the cached stack (cached_stack.h) is one complete stack, the previous one. The stack cache has only
 * the inner ends, of many earlier stacks.
 */
#ifndef HWI_RECORD_UNWIND_STACK_CACHE_H
#define HWI_RECORD_UNWIND_STACK_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "record/lane.h"
#include "record/record.h"
#include "record/unwind/cached_stack.h"

enum { HWI_STACK_END_FRAMES = 12, HWI_STACK_END_PAIRS = 128 };

/* Invariant: the cached stack has room for the frames of a stack end, because its room never shrinks. */
struct hwi_stack_end {
  uintptr_t pc, sp;    /* of the last frame, where a walk would begin; sp 0: empty */
  uint32_t base;       /* number of frames of the cached stack that it continues; the last of these is the stem */
  uint32_t outer_node; /* of the stem's caller; 0: the stem is the outermost frame */
  uint32_t count;      /* of its frames, including the stem */
  uint32_t bps_from;   /* no frame before this one has a bp_slot, except the stem; `count`: none has */
  uint8_t entry;       /* the entry of the last frame's node */
  struct hwi_walked_frame frames[HWI_STACK_END_FRAMES];
};

struct hwi_stack_end_pair {
  struct hwi_stack_end ends[2];
  uint32_t latest; /* index of the one that was taken or added last */
};

/* If the caller's stack has a stack end in the cache, and the stem of that is in the cached stack and unchanged, then
 * the caller's stack becomes the cached stack, and its node for `entry` is returned. Otherwise returns 0. Updates
 * *unchanged (see cached_stack.h). A stack end is in one of two places: the first function looks at the place that was
 * used last, the second function at the other one. */
static inline __attribute__((always_inline)) uint32_t hwi_stack_cache_take(struct hwi_lane *lane,
                                                                           struct hwi_caller caller, uint8_t entry,
                                                                           struct hwi_unchanged *unchanged);
uint32_t hwi_stack_cache_take_other(struct hwi_lane *lane, struct hwi_caller caller, uint8_t entry,
                                    struct hwi_unchanged *unchanged);

/* If the cached stack continues with a stack end, copies that end's frames into the cached stack, and updates
 * *unchanged. */
void hwi_stack_cache_copy_end(struct hwi_lane *lane, struct hwi_unchanged *unchanged);

/* Adds a stack end: all frames of the cached stack except its `base` outermost ones. That stack is within the limit and
 * has all its nodes. `base` is not 0. */
void hwi_stack_cache_add(struct hwi_lane *lane, uint32_t base);

/* Forgets all stack ends. */
void hwi_stack_cache_drop(struct hwi_lane *lane);

/* --- how a stack end is taken, in full: it is on the hot path --- */

/* Returns the two places where the stack end of a caller may be. */
static inline struct hwi_stack_end_pair *hwi_stack_cache_pair(struct hwi_stack_end_pair *pairs, uintptr_t pc,
                                                              uintptr_t sp)
{
  enum { SP_SHIFT = 20 };
  uint64_t key = (pc ^ sp << SP_SHIFT) * UINT64_C(0x9e3779b97f4a7c15);
  return &pairs[(key >> 40) % HWI_STACK_END_PAIRS];
}

static inline uint32_t hwi_stack_cache_outer_node(const struct hwi_cached_stack *cached, uint32_t base)
{
  return base > 1 ? cached->frames[base - 2].node : 0;
}

static inline bool hwi_stack_cache_is_on_stem(const struct hwi_cached_stack *cached, const struct hwi_stack_end *end)
{
  const struct hwi_walked_frame *stem = &end->frames[0];
  return hwi_cached_stack_is_at(&cached->frames[end->base - 1], stem->pc, stem->sp, stem->bp) &&
         hwi_stack_cache_outer_node(cached, end->base) == end->outer_node;
}

/* Returns whether the frames of the cached stack up to the stem, which is frame base - 1, are unchanged. Frames that
 * *unchanged reports are not compared again. */
bool hwi_stack_cache_verify_stem(const struct hwi_cached_stack *cached, uint32_t base, struct hwi_unchanged *unchanged);

static inline __attribute__((always_inline)) bool hwi_stack_cache_is_stem_unchanged(
    const struct hwi_cached_stack *cached, uint32_t base, struct hwi_unchanged *unchanged)
{
  if (__builtin_expect(unchanged->count != 0, 0))
    return hwi_stack_cache_verify_stem(cached, base, unchanged);
  uint32_t known = hwi_cached_stack_unchanged(cached, 0, base);
  *unchanged = (struct hwi_unchanged){known, known != base};
  return known == base;
}

static inline bool hwi_stack_cache_is_unchanged(const struct hwi_stack_end *end)
{
  uintptr_t other = 0;
  for (uint32_t i = end->bps_from; i < end->count; i++)
    if (end->frames[i].bp_slot != HWI_NO_BP_SLOT)
      other |= hwi_cached_stack_bp_difference(&end->frames[i]);
  return !other && hwi_frames_pcs_unchanged(end->frames, 1, end->count) == end->count;
}

/* Makes the cached stack end at the stem and continue with the stack end. */
static inline void hwi_stack_cache_attach(struct hwi_cached_stack *cached, struct hwi_stack_end *end)
{
  while (__builtin_expect(cached->extra.count && cached->extra.items[cached->extra.count - 1].frame >= end->base, 0))
    cached->extra.count--;
  hwi_cached_stack_drop_bps(cached, end->base);
  cached->frames[end->base - 1].node = end->frames[0].node; /* it may have been a node for an entry */
  cached->frame_count = end->base;
  cached->leaf = HWI_NO_LEAF;
  cached->inner_end = end;
}

/* Does the work of hwi_stack_cache_take for one stack end. */
static inline __attribute__((always_inline)) uint32_t hwi_stack_cache_take_this(struct hwi_lane *lane,
                                                                                struct hwi_stack_end *end,
                                                                                struct hwi_caller caller, uint8_t entry,
                                                                                struct hwi_unchanged *unchanged)
{
  struct hwi_cached_stack *cached = &lane->cached;
  if (end->sp != caller.sp || end->pc != caller.pc || end->entry != entry)
    return 0;
  struct hwi_walked_frame *last = &end->frames[end->count - 1];
  if (last->bp != caller.bp && !last->bp_is_free)
    return 0;
  if (end->base > cached->frame_count) {
    hwi_stack_cache_copy_end(lane, unchanged);
    if (end->base > cached->frame_count)
      return 0;
  }
  if (!hwi_stack_cache_is_on_stem(cached, end) || !hwi_stack_cache_is_stem_unchanged(cached, end->base, unchanged) ||
      !hwi_stack_cache_is_unchanged(end))
    return 0;
  hwi_stack_cache_attach(cached, end);
  last->bp = caller.bp;
  *unchanged = (struct hwi_unchanged){end->base, true};
  return last->node;
}

static inline __attribute__((always_inline)) uint32_t hwi_stack_cache_take(struct hwi_lane *lane,
                                                                           struct hwi_caller caller, uint8_t entry,
                                                                           struct hwi_unchanged *unchanged)
{
  if (__builtin_expect(!lane->stack_cache || lane->cached.gap_at != HWI_NO_GAP, 0))
    return 0;
  struct hwi_stack_end_pair *pair = hwi_stack_cache_pair(lane->stack_cache, caller.pc, caller.sp);
  return hwi_stack_cache_take_this(lane, &pair->ends[pair->latest], caller, entry, unchanged);
}

#endif
