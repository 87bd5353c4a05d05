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
 * Cost: a frame is a load or two, as many compares, and a copy; walking it, and finding its node, is some five times as much. A
 * direct-mapped table takes what comes last; it is as large as the second level of a CPU's cache bears.
 */
#include "record/tips.h"

#include <string.h>

#include "platform/os.h"
#include "record/kept.h"
#include "record/nodes.h"
#include "record/walk.h"

enum { TIP_FRAMES = 12, TIP_COUNT = 64 };

struct hwi_tip {
  uint32_t base;       /* kept frames that it goes with, the stem the last of them; 0: there is no tip here */
  uint32_t outer_node; /* of the stem's caller; 0: the stem is the outermost frame */
  uint32_t count;      /* frames, stem included */
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

static uint32_t outer_node_of(const struct hwi_kept *kept, uint32_t base)
{
  return base > 1 ? kept->frames[base - 2].node : 0;
}

static bool is_on_stem(const struct hwi_kept *kept, const struct hwi_tip *tip)
{
  return tip->base && tip->base <= kept->frame_count && is_at(&kept->frames[tip->base - 1], &tip->frames[0]) &&
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
  uintptr_t other = 0;
  for (uint32_t i = 1; i < tip->count; i++)
    other |= hwi_kept_difference(&tip->frames[i]);
  return !other;
}

/* The kept stack is the tip's now. */
static void put_on(struct hwi_kept *kept, const struct hwi_tip *tip)
{
  while (kept->odd.count && kept->odd.items[kept->odd.count - 1].frame >= tip->base)
    kept->odd.count--;
  for (uint32_t i = 0; i < tip->count; i++)
    kept->frames[tip->base - 1 + i] = tip->frames[i];
  kept->frame_count = tip->base - 1 + tip->count;
  kept->leaf = kept->frame_count - 1;
  kept->leaf_entry = tip->entry;
}

bool hwi_tips_take(struct hwi_lane *lane, const struct hwi_caller *caller, uint8_t entry, struct hwi_walk *walk)
{
  struct hwi_kept *kept = &lane->kept;
  struct hwi_frame innermost = {.pc = caller->pc, .sp = caller->sp, .bp = caller->bp};
  if (!lane->tips || kept->gap_at != HWI_NO_GAP)
    return false;
  const struct hwi_tip *tip = tip_at(lane->tips, &innermost, entry);
  if (!is_on_stem(kept, tip) || tip->entry != entry || !is_at(&tip->frames[tip->count - 1], &innermost) ||
      tip->base + tip->count > kept->frame_room || !is_stem_unchanged(kept, tip, walk) || !is_tip_unchanged(tip))
    return false;
  put_on(kept, tip);
  kept->frames[kept->leaf].bp = caller->bp;
  walk->met = kept->frame_count;
  walk->is_checked = true;
  return true;
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
}

void hwi_tips_drop(struct hwi_lane *lane)
{
  for (uint32_t i = 0; lane->tips && i < TIP_COUNT; i++)
    lane->tips[i].base = 0;
}
