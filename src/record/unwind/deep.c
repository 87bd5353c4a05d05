/* deep.c - the nodes of stacks that are deeper than the limit
 *
 * Such a stack's node is its outermost limit - INNER frames, a cut, and its innermost INNER frames. The cut gives the
 * number of omitted frames only as a power of two, so that a recursion makes new nodes at few of its levels. If the
 * outer part is not known, the cut is at the root.
 */
#include "record/unwind/deep.h"

#include "record/unwind/cached_stack.h"
#include "record/unwind/nodes.h"
#include "record/unwind/row_cache.h"

static uint32_t power_of_two_below(uint32_t count)
{
  return UINT32_C(1) << (31 - __builtin_clz(count));
}

/* Returns the node of the outermost `count` frames. */
static uint32_t node_of_outer(struct hwi_lane *lane, const struct hwi_deep *deep, uint32_t count)
{
  struct hwi_walked_frame *cached = lane->cached.frames;
  uint32_t i = deep->base < count ? deep->base : count;
  while (i > 0 && !cached[i - 1].node)
    i--;
  uint32_t parent = i ? cached[i - 1].node : 0;
  for (; i < count; i++) {
    uintptr_t pc = i < deep->base ? cached[i].pc : lane->fresh[deep->base + deep->fresh_count - 1 - i].pc;
    parent = hwi_row_cache_node(lane, parent, pc, HW_ENTRY_NONE);
    if (i < deep->base)
      cached[i].node = parent;
  }
  return parent;
}

static uint32_t node_of_cut(struct hwi_lane *lane, const struct hwi_deep *deep)
{
  uint32_t limit = hwi_session.options.depth;
  bool is_outer_known = !deep->has_gap || (deep->base && lane->cached.gap_at);
  uint32_t parent = is_outer_known ? node_of_outer(lane, deep, limit - HWI_INNER) : 0, left_out = 0;
  if (!deep->has_gap || deep->left_out)
    left_out = power_of_two_below(deep->base + deep->fresh_count + deep->left_out - limit);
  return hwi_nodes_find(lane, parent, left_out, 0, HW_NODE_CUT);
}

/* In a recursion the same few functions call each other at every level, so the inner end often has the same node as
 * before. */
uint32_t hwi_deep_node(struct hwi_lane *lane, const struct hwi_deep *deep, uint8_t entry)
{
  struct hwi_cached_stack *cached = &lane->cached;
  hwi_session_count(&hwi_session.truncated, &hwi_session.header->truncated_stacks);
  uint32_t node = node_of_cut(lane, deep);
  bool is_same = cached->deep.node && cached->deep.cut == node && cached->deep.entry == entry;
  cached->deep.cut = node;
  for (uint32_t i = HWI_INNER; i-- > 0;) {
    uintptr_t pc =
        i < deep->fresh_count ? lane->fresh[i].pc : cached->frames[deep->base + deep->fresh_count - 1 - i].pc;
    is_same = is_same && cached->deep.pcs[i] == pc;
    cached->deep.pcs[i] = pc;
  }
  if (is_same)
    return cached->deep.node;
  for (uint32_t i = HWI_INNER; i-- > 0;)
    node = hwi_row_cache_node(lane, node, cached->deep.pcs[i], i ? HW_ENTRY_NONE : entry);
  cached->deep.entry = entry;
  cached->deep.node = node == HWI_NODE_UNKNOWN ? 0 : node;
  return node;
}
