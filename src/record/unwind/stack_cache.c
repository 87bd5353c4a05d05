/* stack_cache.c - cached inner ends of stacks that a lane has walked, which can be found again without a walk
 *
 * Idea: a program allocates in a few places in turn. Each of these stacks differs from the previous one, but is nearly
 * always identical to an earlier one: the same functions, called from the same lines, have their frames at the same
 * addresses. So the frames that a walk found are cached under the place where the walk began, and verified when a walk
 * would begin there again.
 *
 * Why this is correct: as with the cached stack (see walk.c), the course of a walk is a function of the first frame's
 * pc, sp and bp and of the words that it loads. If all of these are unchanged, it goes through the stack end to its
 * stem. If the stem is a cached frame (pc, sp and bp) with the same outer frames (compared by the node of its caller),
 * and all frames outward of it are unchanged, then the whole stack and its node are known.
 *
 * Most often the next stack also has a stack end, on the same stem or on one further out. So a stack end that was taken
 * stays in its place, and the cached stack ends at the stem with a pointer to the stack end. The stack end's frames are
 * copied after the stem only when a walk, or a stack end whose stem is further in, needs them.
 *
 * Cost: a frame needs one or two loads and as many comparisons; walking it and finding its node costs about five times
 * as much. The latest stack ends replace older ones in a table of pairs, which is as large as the second-level cache of
 * a CPU allows. Two stacks may begin with the same frame and continue from different lines of the same caller: that is
 * why each place has a pair.
 */
#include "record/unwind/stack_cache.h"

#include "platform/os.h"
#include "record/own_ranges.h"
#include "record/unwind/nodes.h"

enum {
  CACHE_BYTES = (HWI_STACK_END_PAIRS * sizeof(struct hwi_stack_end_pair) + HWI_OS_PAGE_BYTES - 1) / HWI_OS_PAGE_BYTES *
                HWI_OS_PAGE_BYTES
};

/* Copies the stack end's frames to the cached ones. */
static void settle(struct hwi_cached_stack *cached)
{
  const struct hwi_stack_end *end = cached->inner_end;
  cached->inner_end = NULL;
  for (uint32_t i = 1; i < end->count; i++)
    cached->frames[end->base - 1 + i] = end->frames[i];
  for (uint32_t i = end->bps_from; i < end->count; i++)
    if (end->frames[i].bp_slot != HWI_NO_BP_SLOT)
      hwi_cached_stack_add_bp(cached, end->base - 1 + i);
  cached->frame_count = end->base - 1 + end->count;
  cached->leaf = cached->frame_count - 1;
  cached->leaf_entry = end->entry;
}

bool hwi_stack_cache_verify_stem(const struct hwi_cached_stack *cached, uint32_t base, struct hwi_unchanged *unchanged)
{
  if (unchanged->count < base && !unchanged->is_exact) {
    uint32_t known = hwi_cached_stack_unchanged(cached, unchanged->count, base);
    *unchanged = (struct hwi_unchanged){known, known != base};
  }
  return unchanged->count >= base;
}

uint32_t hwi_stack_cache_take_other(struct hwi_lane *lane, struct hwi_caller caller, uint8_t entry,
                                    struct hwi_unchanged *unchanged)
{
  if (!lane->stack_cache || lane->cached.gap_at != HWI_NO_GAP)
    return 0;
  struct hwi_stack_end_pair *pair = hwi_stack_cache_pair(lane->stack_cache, caller.pc, caller.sp);
  uint32_t other = pair->latest ^ 1,
           node = hwi_stack_cache_take_this(lane, &pair->ends[other], caller, entry, unchanged);
  if (node)
    pair->latest = other;
  return node;
}

void hwi_stack_cache_copy_end(struct hwi_lane *lane, struct hwi_unchanged *unchanged)
{
  struct hwi_cached_stack *cached = &lane->cached;
  uint32_t base = cached->frame_count;
  if (!cached->inner_end)
    return;
  settle(cached);
  if (unchanged->is_exact && unchanged->count == base)
    unchanged->count = hwi_cached_stack_unchanged(cached, base, cached->frame_count);
}

void hwi_stack_cache_add(struct hwi_lane *lane, uint32_t base)
{
  const struct hwi_cached_stack *cached = &lane->cached;
  uint32_t count = cached->frame_count - base + 1;
  const struct hwi_walked_frame *stem = &cached->frames[base - 1], *innermost = stem + count - 1;
  if (count > HWI_STACK_END_FRAMES || innermost->node == HWI_NODE_UNKNOWN)
    return;
  if (!lane->stack_cache) {
    lane->stack_cache = hwi_os_map(CACHE_BYTES);
    if (!lane->stack_cache)
      return;
    hwi_own_ranges_add(lane->stack_cache, CACHE_BYTES, NULL);
  }
  struct hwi_stack_end_pair *pair = hwi_stack_cache_pair(lane->stack_cache, innermost->pc, innermost->sp);
  struct hwi_stack_end *end = &pair->ends[pair->latest ^= 1];
  end->pc = innermost->pc;
  end->sp = innermost->sp;
  end->base = base;
  end->outer_node = hwi_stack_cache_outer_node(cached, base);
  end->count = count;
  end->entry = cached->leaf_entry;
  for (struct hwi_walked_frame *to = end->frames; to < end->frames + count; to++)
    *to = *stem++;
  end->bps_from = count;
  for (uint32_t i = cached->bps.count; i-- > 0 && cached->bps.items[i] >= base;)
    end->bps_from = cached->bps.items[i] - (base - 1);
}

void hwi_stack_cache_drop(struct hwi_lane *lane)
{
  for (uint32_t i = 0; lane->stack_cache && i < HWI_STACK_END_PAIRS; i++)
    lane->stack_cache[i].ends[0].sp = lane->stack_cache[i].ends[1].sp = 0;
}
