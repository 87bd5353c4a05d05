/* stack_cache.c - cached inner ends of stacks that a lane has walked, which can be found again without a walk
 *
 * Idea: a program allocates in a few places in turn. Each of these stacks differs from the previous one, but is nearly
 * always identical to an earlier one: the same functions, called from the same lines, have their frames at the same
 * addresses. So the frames that a walk found are cached under the place where the walk began, and verified when a walk
 * would begin there again.
 *
 * Why this is correct: as with the kept stack (see walk.c), the course of a walk is a function of the first frame's pc,
 * sp and bp and of the words that it loads. If all of these are unchanged, it goes through the tip to its stem. If the
 * stem is a kept frame (pc, sp and bp) with the same outer frames (compared by the node of its caller), and all frames
 * outward of it are unchanged, then the whole stack and its node are known.
 *
 * Most often the next stack also has a tip, on the same stem or on one further out. So a tip that was taken stays in
 * its place, and the kept stack ends at the stem with a pointer to the tip. The tip's frames are copied after the stem
 * only when a walk, or a tip whose stem is further in, needs them.
 *
 * Cost: a frame needs one or two loads and as many comparisons; walking it and finding its node costs about five times
 * as much. The latest tips replace older ones in a table of pairs, which is as large as the second-level cache of a CPU
 * allows. Two stacks may begin with the same frame and continue from different lines of the same caller: that is why
 * each place has a pair.
 */
#include "record/unwind/stack_cache.h"

#include "platform/os.h"
#include "record/unwind/nodes.h"

enum {
  TIPS_BYTES = (HWI_STACK_END_PAIRS * sizeof(struct hwi_stack_end_pair) + HWI_OS_PAGE_BYTES - 1) / HWI_OS_PAGE_BYTES *
               HWI_OS_PAGE_BYTES
};

/* Copies the tip's frames to the kept ones. */
static void settle(struct hwi_cached_stack *kept)
{
  const struct hwi_stack_end *tip = kept->tip;
  kept->tip = NULL;
  for (uint32_t i = 1; i < tip->count; i++)
    kept->frames[tip->base - 1 + i] = tip->frames[i];
  for (uint32_t i = tip->bps_from; i < tip->count; i++)
    if (tip->frames[i].bp_slot != HWI_NO_BP_SLOT)
      hwi_cached_stack_add_bp(kept, tip->base - 1 + i);
  kept->frame_count = tip->base - 1 + tip->count;
  kept->leaf = kept->frame_count - 1;
  kept->leaf_entry = tip->entry;
}

bool hwi_stack_cache_find_out(const struct hwi_cached_stack *kept, uint32_t base, uint32_t *unchanged)
{
  uint32_t known = *unchanged & ~HWI_AT_LEAST;
  if (known < base && known != *unchanged) {
    known = hwi_cached_stack_unchanged(kept, known, base);
    *unchanged = known == base ? known | HWI_AT_LEAST : known;
  }
  return known >= base;
}

uint32_t hwi_stack_cache_take_other(struct hwi_lane *lane, struct hwi_caller caller, uint8_t entry, uint32_t *unchanged)
{
  if (!lane->tips || lane->kept.gap_at != HWI_NO_GAP)
    return 0;
  struct hwi_stack_end_pair *pair = hwi_stack_cache_pair(lane->tips, caller.pc, caller.sp);
  uint32_t other = pair->latest ^ 1,
           node = hwi_stack_cache_take_this(lane, &pair->tips[other], caller, entry, unchanged);
  if (node)
    pair->latest = other;
  return node;
}

void hwi_stack_cache_settle(struct hwi_lane *lane, uint32_t *unchanged)
{
  struct hwi_cached_stack *kept = &lane->kept;
  uint32_t base = kept->frame_count;
  if (!kept->tip)
    return;
  settle(kept);
  if (*unchanged == base)
    *unchanged = hwi_cached_stack_unchanged(kept, base, kept->frame_count);
}

void hwi_stack_cache_add(struct hwi_lane *lane, uint32_t base)
{
  const struct hwi_cached_stack *kept = &lane->kept;
  uint32_t count = kept->frame_count - base + 1;
  const struct hwi_walked_frame *stem = &kept->frames[base - 1], *innermost = stem + count - 1;
  if (count > HWI_STACK_END_FRAMES || innermost->node == HWI_NODE_UNKNOWN)
    return;
  if (!lane->tips && !(lane->tips = hwi_os_map(TIPS_BYTES)))
    return;
  struct hwi_stack_end_pair *pair = hwi_stack_cache_pair(lane->tips, innermost->pc, innermost->sp);
  struct hwi_stack_end *tip = &pair->tips[pair->latest ^= 1];
  tip->pc = innermost->pc;
  tip->sp = innermost->sp;
  tip->base = base;
  tip->outer_node = hwi_stack_cache_outer_node(kept, base);
  tip->count = count;
  tip->entry = kept->leaf_entry;
  for (struct hwi_walked_frame *to = tip->frames; to < tip->frames + count; to++)
    *to = *stem++;
  tip->bps_from = count;
  for (uint32_t i = kept->bps.count; i-- > 0 && kept->bps.items[i] >= base;)
    tip->bps_from = kept->bps.items[i] - (base - 1);
}

void hwi_stack_cache_drop(struct hwi_lane *lane)
{
  for (uint32_t i = 0; lane->tips && i < HWI_STACK_END_PAIRS; i++)
    lane->tips[i].tips[0].sp = lane->tips[i].tips[1].sp = 0;
}
