/* tips.h - inner ends of stacks that a lane has walked, to be found again without a walk
 *
 * tip        the frames of a stack that its walk did not find among the kept ones, and the kept one that they begin at: its
 *            stem. X is not Y: the kept stack is the one before; tips are of many stacks that came earlier.
 */
#ifndef HWI_RECORD_TIPS_H
#define HWI_RECORD_TIPS_H

#include <stdbool.h>
#include <stdint.h>

#include "record/kept.h"
#include "record/lane.h"
#include "record/record.h"

enum { HWI_TIP_FRAMES = 12, HWI_TIP_PAIRS = 128 };

/* Invariant: there was room for its frames among the kept ones, and room never shrinks. */
struct hwi_tip {
  uintptr_t pc, sp;    /* of the last frame: where a walk would begin; sp 0: there is no tip here */
  uint32_t base;       /* kept frames that it goes with, the stem the last of them */
  uint32_t outer_node; /* of the stem's caller; 0: the stem is the outermost frame */
  uint32_t count;      /* frames, stem included */
  uint32_t bps_from;   /* no frame before this one has a bp_slot, the stem aside; `count`: none has */
  uint8_t entry;       /* the last frame's node is for it */
  struct hwi_frame frames[HWI_TIP_FRAMES];
};

struct hwi_tip_pair {
  struct hwi_tip tips[2];
  uint32_t latest; /* which of the two was taken or added last */
};

/* Is the stack one whose tip is remembered, on a stem that is kept and unchanged? Then it becomes the kept stack, and the result
 * is its node for `entry`; else 0. *unchanged (see kept.h) becomes what was found out. A tip lies in one of two places: this looks
 * at the one that was used last, the next function at the other. */
static inline __attribute__((always_inline)) uint32_t hwi_tips_take(struct hwi_lane *lane, struct hwi_caller caller,
                                                                    uint8_t entry, uint32_t *unchanged);
uint32_t hwi_tips_take_other(struct hwi_lane *lane, struct hwi_caller caller, uint8_t entry, uint32_t *unchanged);

/* Where the kept stack goes on with a tip, that tip's frames become kept ones, of which *unchanged tells, too. */
void hwi_tips_settle(struct hwi_lane *lane, uint32_t *unchanged);

/* Remembers the inner end of the kept stack, which is within the limit and has all its nodes: all but its `base` outermost
 * frames. `base` is not 0. */
void hwi_tips_add(struct hwi_lane *lane, uint32_t base);

/* Forgets all tips. */
void hwi_tips_drop(struct hwi_lane *lane);

/* --- how one is taken, in full: it is on the hot path --- */

/* The pair of places in which a tip may lie. */
static inline struct hwi_tip_pair *hwi_tips_pair(struct hwi_tip_pair *pairs, uintptr_t pc, uintptr_t sp)
{
  enum { SP_SHIFT = 20 };
  uint64_t key = (pc ^ sp << SP_SHIFT) * UINT64_C(0x9e3779b97f4a7c15);
  return &pairs[(key >> 40) % HWI_TIP_PAIRS];
}

static inline uint32_t hwi_tips_outer_node(const struct hwi_kept *kept, uint32_t base)
{
  return base > 1 ? kept->frames[base - 2].node : 0;
}

static inline bool hwi_tips_is_on_stem(const struct hwi_kept *kept, const struct hwi_tip *tip)
{
  const struct hwi_frame *stem = &tip->frames[0];
  return hwi_kept_is_at(&kept->frames[tip->base - 1], stem->pc, stem->sp, stem->bp) &&
         hwi_tips_outer_node(kept, tip->base) == tip->outer_node;
}

/* Are the kept frames up to the stem unchanged, of some of which that may be known? */
bool hwi_tips_find_out(const struct hwi_kept *kept, uint32_t base, uint32_t *unchanged);

static inline __attribute__((always_inline)) bool hwi_tips_is_stem_unchanged(const struct hwi_kept *kept, uint32_t base,
                                                                             uint32_t *unchanged)
{
  if (__builtin_expect(*unchanged != HWI_AT_LEAST, 0))
    return hwi_tips_find_out(kept, base, unchanged);
  uint32_t known = hwi_kept_unchanged(kept, 0, base);
  *unchanged = known == base ? known | HWI_AT_LEAST : known;
  return known == base;
}

static inline bool hwi_tips_is_unchanged(const struct hwi_tip *tip)
{
  uintptr_t other = 0;
  for (uint32_t i = tip->bps_from; i < tip->count; i++)
    if (tip->frames[i].bp_slot != HWI_NO_BP_SLOT)
      other |= hwi_kept_bp_difference(&tip->frames[i]);
  return !other && hwi_frames_pcs_unchanged(tip->frames, 1, tip->count) == tip->count;
}

/* The kept stack goes on with the tip now. */
static inline void hwi_tips_put_on(struct hwi_kept *kept, struct hwi_tip *tip)
{
  while (__builtin_expect(kept->odd.count && kept->odd.items[kept->odd.count - 1].frame >= tip->base, 0))
    kept->odd.count--;
  hwi_kept_drop_bps(kept, tip->base);
  kept->frames[tip->base - 1].node = tip->frames[0].node; /* it may have been one for an entry */
  kept->frame_count = tip->base;
  kept->leaf = HWI_NO_LEAF;
  kept->tip = tip;
}

/* Is it the tip? */
static inline __attribute__((always_inline)) uint32_t hwi_tips_take_this(struct hwi_lane *lane, struct hwi_tip *tip,
                                                                         struct hwi_caller caller, uint8_t entry,
                                                                         uint32_t *unchanged)
{
  struct hwi_kept *kept = &lane->kept;
  if (tip->sp != caller.sp || tip->pc != caller.pc || tip->entry != entry)
    return 0;
  struct hwi_frame *last = &tip->frames[tip->count - 1];
  if (last->bp != caller.bp && !last->bp_is_free)
    return 0;
  if (tip->base > kept->frame_count) {
    hwi_tips_settle(lane, unchanged);
    if (tip->base > kept->frame_count)
      return 0;
  }
  if (!hwi_tips_is_on_stem(kept, tip) || !hwi_tips_is_stem_unchanged(kept, tip->base, unchanged) ||
      !hwi_tips_is_unchanged(tip))
    return 0;
  hwi_tips_put_on(kept, tip);
  last->bp = caller.bp;
  *unchanged = tip->base;
  return last->node;
}

static inline __attribute__((always_inline)) uint32_t hwi_tips_take(struct hwi_lane *lane, struct hwi_caller caller,
                                                                    uint8_t entry, uint32_t *unchanged)
{
  if (__builtin_expect(!lane->tips || lane->kept.gap_at != HWI_NO_GAP, 0))
    return 0;
  struct hwi_tip_pair *pair = hwi_tips_pair(lane->tips, caller.pc, caller.sp);
  return hwi_tips_take_this(lane, &pair->tips[pair->latest], caller, entry, unchanged);
}

#endif
