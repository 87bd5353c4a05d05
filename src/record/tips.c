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
 * Cost: a frame is a load or two and as many compares; walking it, and finding its node, is some five times as much. A table
 * of pairs takes what comes last; it is as large as the second level of a CPU's cache bears. Two stacks may well begin alike and go
 * on from another line of the same caller: that is what the second of a pair is for.
 */
#include "record/tips.h"

#include "platform/os.h"
#include "record/nodes.h"

enum {
  TIPS_BYTES =
      (HWI_TIP_PAIRS * sizeof(struct hwi_tip_pair) + HWI_OS_PAGE_BYTES - 1) / HWI_OS_PAGE_BYTES * HWI_OS_PAGE_BYTES
};

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

bool hwi_tips_find_out(const struct hwi_kept *kept, uint32_t base, uint32_t *unchanged)
{
  uint32_t known = *unchanged & ~HWI_AT_LEAST;
  if (known < base && known != *unchanged) {
    known = hwi_kept_unchanged(kept, known, base);
    *unchanged = known == base ? known | HWI_AT_LEAST : known;
  }
  return known >= base;
}

uint32_t hwi_tips_take_other(struct hwi_lane *lane, struct hwi_caller caller, uint8_t entry, uint32_t *unchanged)
{
  if (!lane->tips || lane->kept.gap_at != HWI_NO_GAP)
    return 0;
  struct hwi_tip_pair *pair = hwi_tips_pair(lane->tips, caller.pc, caller.sp);
  uint32_t other = pair->latest ^ 1, node = hwi_tips_take_this(lane, &pair->tips[other], caller, entry, unchanged);
  if (node)
    pair->latest = other;
  return node;
}

void hwi_tips_settle(struct hwi_lane *lane, uint32_t *unchanged)
{
  struct hwi_kept *kept = &lane->kept;
  uint32_t base = kept->frame_count;
  if (!kept->tip)
    return;
  settle(kept);
  if (*unchanged == base)
    *unchanged = hwi_kept_unchanged(kept, base, kept->frame_count);
}

void hwi_tips_add(struct hwi_lane *lane, uint32_t base)
{
  const struct hwi_kept *kept = &lane->kept;
  uint32_t count = kept->frame_count - base + 1;
  const struct hwi_frame *stem = &kept->frames[base - 1], *innermost = stem + count - 1;
  if (count > HWI_TIP_FRAMES || innermost->node == HWI_NODE_UNKNOWN)
    return;
  if (!lane->tips && !(lane->tips = hwi_os_map(TIPS_BYTES)))
    return;
  struct hwi_tip_pair *pair = hwi_tips_pair(lane->tips, innermost->pc, innermost->sp);
  struct hwi_tip *tip = &pair->tips[pair->latest ^= 1];
  tip->pc = innermost->pc;
  tip->sp = innermost->sp;
  tip->base = base;
  tip->outer_node = hwi_tips_outer_node(kept, base);
  tip->count = count;
  tip->entry = kept->leaf_entry;
  for (struct hwi_frame *to = tip->frames; to < tip->frames + count; to++)
    *to = *stem++;
  tip->bps_from = count;
  for (uint32_t i = kept->bps.count; i-- > 0 && kept->bps.items[i] >= base;)
    tip->bps_from = kept->bps.items[i] - (base - 1);
}

void hwi_tips_drop(struct hwi_lane *lane)
{
  for (uint32_t i = 0; lane->tips && i < HWI_TIP_PAIRS; i++)
    lane->tips[i].tips[0].sp = lane->tips[i].tips[1].sp = 0;
}
