/* tips.c - inner ends of stacks that a lane has walked, to be found again without a walk
 *
 * Idea: a program allocates in a few places in turn. Each of these stacks is another than the one before, but nearly always
 * one that was there earlier, to the word: the same functions, called from the same lines, have their frames in the same places.
 * So the frames that a walk found are remembered by where the walk began, and verified when a walk would begin there again.
 *
 * Why that is right: as with the kept stack (see walk.c), where a walk goes is a function of the first frame's pc, sp and bp and
 * of the words that it loads. If all of these are what they were, it goes through the tip to its stem; if the stem is a
 * kept frame (pc, sp and bp) that hangs on the same outer frames (by the node of its caller), and all that is outward of it is
 * unchanged, the whole stack is known, and its node.
 *
 * Most often the next stack is a tip's again, on the same stem or on one further out. So a tip that was taken stays where it
 * is, and the kept stack ends at its stem and says that it goes on there; its frames are copied behind the stem only when a
 * walk, or a tip whose stem is further in, asks for them.
 *
 * Cost: a frame is a load or two and as many compares; walking it, and finding its node, is some five times as much. A
 * direct-mapped table takes what comes last; it is as large as the second level of a CPU's cache bears.
 */
#include "record/tips.h"

#include <string.h>

#include "platform/os.h"
#include "record/kept.h"
#include "record/nodes.h"
#include "record/walk.h"

enum { TIP_FRAMES = 12, TIP_COUNT = 256 };

struct hwi_tip {
  uint32_t base;       /* kept frames that it goes with, the stem the last of them; 0: there is no tip here */
  uint32_t outer_node; /* of the stem's caller; 0: the stem is the outermost frame */
  uint32_t count;      /* frames, stem included */
  uint32_t bps_from;   /* no frame before this one has a bp_slot, the stem aside; `count`: none has */
  uint8_t entry;       /* the last frame's node is for it */
  struct hwi_frame frames[TIP_FRAMES];
};
enum {
  TIPS_BYTES = (TIP_COUNT * sizeof(struct hwi_tip) + HWI_OS_PAGE_BYTES - 1) / HWI_OS_PAGE_BYTES * HWI_OS_PAGE_BYTES
};

static struct hwi_tip *tip_at(struct hwi_tip *tips, const struct hwi_frame *innermost, uint8_t entry)
{
  uint64_t key = innermost->pc * 31 + innermost->sp * 7 + entry;
  return &tips[(key * UINT64_C(0x9e3779b97f4a7c15) >> 40) % TIP_COUNT];
}

static inline bool is_at(const struct hwi_frame *frame, const struct hwi_frame *place)
{
  return frame->sp == place->sp && frame->pc == place->pc && (frame->bp == place->bp || frame->bp_is_free);
}

/* Does a tip lie here, and does it end where a walk would begin? */
static bool is_of(const struct hwi_tip *tip, const struct hwi_frame *innermost, uint8_t entry)
{
  return tip->base && tip->entry == entry && is_at(&tip->frames[tip->count - 1], innermost);
}

static uint32_t outer_node_of(const struct hwi_kept *kept, uint32_t base)
{
  return base > 1 ? kept->frames[base - 2].node : 0;
}

static bool is_on_stem(const struct hwi_kept *kept, const struct hwi_tip *tip)
{
  return tip->base <= kept->frame_count && is_at(&kept->frames[tip->base - 1], &tip->frames[0]) &&
         outer_node_of(kept, tip->base) == tip->outer_node;
}

static bool is_stem_unchanged(const struct hwi_kept *kept, const struct hwi_tip *tip, struct hwi_walk *walk)
{
  if (walk->is_checked)
    return walk->met >= tip->base;
  uint32_t unchanged = hwi_kept_unchanged(kept, 0, tip->base);
  if (unchanged == tip->base)
    return true;
  walk->met = unchanged;
  walk->is_checked = true;
  return false;
}

static bool is_tip_unchanged(const struct hwi_tip *tip)
{
  if (hwi_frames_pcs_unchanged(tip->frames, 1, tip->count) != tip->count)
    return false;
  uintptr_t other = 0;
  for (uint32_t i = tip->bps_from; i < tip->count; i++)
    if (tip->frames[i].bp_slot != HWI_NO_BP_SLOT)
      other |= hwi_kept_bp_difference(&tip->frames[i]);
  return !other;
}

/* The kept stack goes on with the tip now. */
static void put_on(struct hwi_kept *kept, struct hwi_tip *tip)
{
  while (kept->odd.count && kept->odd.items[kept->odd.count - 1].frame >= tip->base)
    kept->odd.count--;
  hwi_kept_drop_bps(kept, tip->base);
  kept->frames[tip->base - 1].node = tip->frames[0].node; /* it may have been one for an entry */
  kept->frame_count = tip->base;
  kept->leaf = HWI_NO_LEAF;
  kept->tip = tip;
}

/* The tip's frames are kept ones now. */
static void settle(struct hwi_kept *kept)
{
  const struct hwi_tip *tip = kept->tip;
  kept->tip = NULL;
  for (uint32_t i = 1; i < tip->count; i++)
    kept->frames[tip->base - 1 + i] = tip->frames[i];
  for (uint32_t i = tip->bps_from; i < tip->count; i++)
    if (tip->frames[i].bp_slot != HWI_NO_BP_SLOT)
      hwi_kept_add_bp(kept, tip->base - 1 + i);
  kept->frame_count = tip->base - 1 + tip->count;
  kept->leaf = kept->frame_count - 1;
  kept->leaf_entry = tip->entry;
}

void hwi_tips_settle(struct hwi_lane *lane, struct hwi_walk *walk)
{
  struct hwi_kept *kept = &lane->kept;
  uint32_t base = kept->frame_count;
  if (!kept->tip)
    return;
  settle(kept);
  if (!walk->is_checked)
    walk->met = kept->frame_count;
  else if (walk->met == base)
    walk->met = hwi_kept_unchanged(kept, base, kept->frame_count);
}

uint32_t hwi_tips_take(struct hwi_lane *lane, const struct hwi_caller *caller, uint8_t entry, struct hwi_walk *walk)
{
  struct hwi_kept *kept = &lane->kept;
  const struct hwi_frame innermost = {.pc = caller->pc, .sp = caller->sp, .bp = caller->bp};
  if (!lane->tips || kept->gap_at != HWI_NO_GAP)
    return 0;
  struct hwi_tip *tip = tip_at(lane->tips, &innermost, entry);
  if (!is_of(tip, &innermost, entry))
    return 0;
  if (tip->base > kept->frame_count)
    hwi_tips_settle(lane, walk);
  if (!is_on_stem(kept, tip) || tip->base + tip->count > kept->frame_room || !is_stem_unchanged(kept, tip, walk) ||
      !is_tip_unchanged(tip))
    return 0;
  put_on(kept, tip);
  struct hwi_frame *last = &tip->frames[tip->count - 1];
  last->bp = caller->bp;
  walk->met = tip->base;
  walk->is_checked = true;
  return last->node;
}

void hwi_tips_add(struct hwi_lane *lane, uint32_t base)
{
  const struct hwi_kept *kept = &lane->kept;
  uint32_t count = kept->frame_count - base + 1;
  const struct hwi_frame *innermost = &kept->frames[kept->frame_count - 1];
  if (count > TIP_FRAMES || innermost->node == HWI_NODE_UNKNOWN)
    return;
  if (!lane->tips && !(lane->tips = hwi_os_map(TIPS_BYTES)))
    return;
  struct hwi_tip *tip = tip_at(lane->tips, innermost, kept->leaf_entry);
  tip->base = base;
  tip->outer_node = outer_node_of(kept, base);
  tip->count = count;
  tip->entry = kept->leaf_entry;
  for (uint32_t i = 0; i < count; i++)
    tip->frames[i] = kept->frames[base - 1 + i];
  tip->bps_from = count;
  for (uint32_t i = kept->bps.count; i-- > 0 && kept->bps.items[i] >= base;)
    tip->bps_from = kept->bps.items[i] - (base - 1);
}

void hwi_tips_drop(struct hwi_lane *lane)
{
  for (uint32_t i = 0; lane->tips && i < TIP_COUNT; i++)
    lane->tips[i].base = 0;
}
