/* walk.c - from the frame that called an entry point to the node of its whole stack
 *
 * Idea: two stacks in a row share most of their outer frames. The lane keeps the previous one, and with it every word that
 * its walk loaded. A new walk goes outward from the caller only until it meets a kept frame (same pc, sp and bp); the rest is
 * not walked again but verified.
 *
 * Often a function is called again from another line: its own frames are equal to kept ones, and the word with the return
 * address into its caller is not. Then the frames inward of that word are walked, and what is outward of it is met.
 *
 * Why that is right: the step from a frame to its caller is a function of (pc, sp, bp) and of the words that it loads, as
 * the CFI of loaded code is constant; and where a frame finds its CFA by sp and its caller's bp in memory, not even of bp,
 * which such code is free to use for anything. So if the frames are equal and every word that the kept walk loaded from there on is
 * unchanged, a walk would go the same way, to the last frame. The lane forgets the kept stack when anything else could
 * matter: a module was unloaded, or the stack pointer left the range. A walk that crossed a signal frame, changed to
 * another stack, or needed the interpreter (whose steps depend on more registers) is not kept at all.
 *
 * Cost: a frame walked is a row look-up and two loads; a word verified is a load and a compare.
 *
 * Depth: up to the limit a stack is a plain chain of nodes; what becomes of a deeper one is in deep.c, and how little of it
 * need be verified in kept.c. A walk that meets nothing within FRESH_FACTOR * limit frames gives up.
 */
#include "record/walk.h"

#include "record/audit.h"
#include "record/deep.h"
#include "record/kept.h"
#include "record/nodes.h"
#include "record/rows.h"
#include "record/step.h"

enum {
  FRESH_FACTOR = 4, /* times the limit: frames walked at most for one event */
  FIRST_FRAMES = 64,
  AUDIT_MASK = 1023, /* one spliced stack in 1,024 is audited */
};

void hwi_walk_forget(struct hwi_lane *lane)
{
  hwi_kept_forget(&lane->kept);
}

/* --- the walk --- */

static bool make_room_fresh(struct hwi_lane *lane, uint32_t count)
{
  if (count < lane->fresh_room)
    return true;
  if (count >= hwi_session.options.depth * FRESH_FACTOR)
    return false;
  return hwi_grow((void **)&lane->fresh, &lane->fresh_room, count ? 2 * count : FIRST_FRAMES, sizeof *lane->fresh);
}

/* Would a walk go on from the kept frame as from this place? */
static inline bool is_at(const struct hwi_frame *kept, uintptr_t pc, uintptr_t sp, uintptr_t bp)
{
  return kept->sp == sp && kept->pc == pc && (kept->bp == bp || kept->bp_is_free);
}

enum hwi_walk_end hwi_walk_outward(struct hwi_lane *lane, const struct hwi_caller *caller, bool may_splice,
                                   struct hwi_walk *walk)
{
  *walk = (struct hwi_walk){.range = &lane->range, .keepable = true, .met = lane->kept.frame_count};
  struct hwi_frame *kept = lane->kept.frames;
  struct hwi_place at = {caller->pc, caller->sp, caller->bp, false};
  for (;;) {
    while (may_splice && walk->met > 0 && kept[walk->met - 1].sp < at.sp)
      walk->met--;
    if (may_splice && walk->met > 0 && is_at(&kept[walk->met - 1], at.pc, at.sp, at.bp) && walk->keepable) {
      struct hwi_frame *frame = &kept[walk->met - 1];
      if (hwi_kept_is_met(&lane->kept, walk)) {
        frame->bp = at.bp;
        return HWI_WALK_MET;
      }
    }
    if (!make_room_fresh(lane, walk->fresh_count))
      return HWI_WALK_TOO_DEEP;
    struct hwi_walked *step = &lane->fresh[walk->fresh_count++];
    struct hwi_row_hit hit = hwi_rows_find(lane, at.pc, at.exact);
    step->pc = at.pc + at.exact; /* so that the byte before it lies in the instruction, as with return addresses */
    step->sp = at.sp;
    step->bp = at.bp;
    step->module = hit.module;
    step->word_count = 0;
    step->bp_is_free = false;
    enum hwi_walk_end end = hwi_step_outward(walk, hit.row, step, &at);
    if (end != HWI_WALK_GOES_ON)
      return end;
  }
}

/* --- from frames to nodes --- */

/* The nodes of the frames [first, count) of the fresh ones, outermost first, below `parent`. */
static uint32_t nodes_of_fresh(struct hwi_lane *lane, uint32_t parent, uint32_t count, uint8_t entry)
{
  for (uint32_t i = count; i-- > 0;)
    parent = hwi_nodes_find(lane, parent, lane->fresh[i].pc, lane->fresh[i].module, i ? HW_ENTRY_NONE : entry);
  return parent;
}

/* --- the kept stack --- */

/* The node of the kept stack, which is within the limit, for `entry` called from its innermost frame. */
static uint32_t node_of_kept(struct hwi_lane *lane, uint8_t entry)
{
  struct hwi_kept *kept = &lane->kept;
  uint32_t last = kept->frame_count - 1;
  if (kept->leaf == last && kept->leaf_entry == entry)
    return kept->frames[last].node;
  uint32_t parent = last ? kept->frames[last - 1].node : 0;
  kept->frames[last].node = hwi_rows_node_at(lane, parent, kept->frames[last].pc, entry);
  kept->leaf_entry = entry;
  kept->leaf = last;
  return kept->frames[last].node;
}

/* The stack will be the first `base` kept frames and some fresh ones: a node that was for an entry is no frame's. */
static void drop_leaf(struct hwi_kept *kept, uint32_t base, uint32_t fresh_count)
{
  if (kept->leaf == HWI_NO_LEAF || (!fresh_count && kept->leaf + 1 == base))
    return;
  if (kept->leaf < base)
    kept->frames[kept->leaf].node = 0;
  kept->leaf = HWI_NO_LEAF;
}

/* Frames that were kept while the stack was too deep, or whose node was for an entry, have none yet. */
static void complete_nodes(struct hwi_lane *lane, uint32_t base)
{
  struct hwi_frame *frames = lane->kept.frames;
  uint32_t first = base;
  while (first > 0 && !frames[first - 1].node)
    first--;
  for (uint32_t i = first; i < base; i++)
    frames[i].node = hwi_rows_node_at(lane, i ? frames[i - 1].node : 0, frames[i].pc, HW_ENTRY_NONE);
}

static bool is_audited(struct hwi_lane *lane)
{
  return (++lane->event_count & AUDIT_MASK) == 0 || hwi_session.options.check;
}

/* Stacks that are seldom: too deep, not to be kept, or without memory to keep them. `base` kept frames are part of it. */
static uint32_t walk_unusual(struct hwi_lane *lane, const struct hwi_walk *walk, uint32_t base, uint8_t entry)
{
  const struct hwi_kept *kept = &lane->kept;
  struct hwi_deep deep = {.base = base, .fresh_count = walk->fresh_count};
  bool is_cut = walk->end == HWI_WALK_TOO_DEEP;
  deep.has_gap = is_cut || base > kept->gap_at;
  deep.left_out = deep.has_gap && !is_cut ? kept->left_out : 0;
  if (!deep.has_gap && base + walk->fresh_count <= hwi_session.options.depth) {
    if (base)
      complete_nodes(lane, base);
    return nodes_of_fresh(lane, base ? kept->frames[base - 1].node : 0, walk->fresh_count, entry);
  }
  uint32_t node = hwi_deep_node(lane, &deep, entry);
  if (walk->keepable)
    hwi_kept_add_deep(lane, base, walk->fresh_count, is_cut);
  return node;
}

/* The kept frames that the stack begins with, outermost ones first. */
static uint32_t base_of(struct hwi_lane *lane, const struct hwi_walk *walk)
{
  switch (walk->end) {
  case HWI_WALK_MET:
    return walk->met;
  case HWI_WALK_TOO_DEEP:
    return walk->keepable ? hwi_kept_outer_of(&lane->kept, lane->fresh[walk->fresh_count - 1].sp) : 0;
  case HWI_WALK_LOST:
    hwi_session_count(&hwi_session.unfinished, &hwi_session.header->unfinished_stacks);
    return 0;
  default:
    return 0;
  }
}

/* A stack that is not the one before. */
static uint32_t walk_anew(struct hwi_lane *lane, const struct hwi_caller *caller, uint8_t entry, bool audited)
{
  struct hwi_walk walk;
  walk.end = hwi_walk_outward(lane, caller, lane->kept.frame_count > 0, &walk);
  if (walk.end == HWI_WALK_MET && audited && !hwi_audit_is_same(lane, caller, &walk)) {
    hwi_walk_forget(lane); /* and believe the full walk */
    walk.end = hwi_walk_outward(lane, caller, false, &walk);
  }
  struct hwi_kept *kept = &lane->kept;
  if (walk.end == HWI_WALK_TOO_DEEP && walk.fresh_count < HWI_INNER)
    return HWI_NODE_UNKNOWN; /* there was no memory for its frames */
  uint32_t base = base_of(lane, &walk);
  drop_leaf(kept, base, walk.fresh_count);
  if (__builtin_expect(!walk.keepable || base > kept->gap_at || walk.end == HWI_WALK_TOO_DEEP ||
                           base + walk.fresh_count > hwi_session.options.depth,
                       0))
    return walk_unusual(lane, &walk, base, entry);
  if (__builtin_expect(kept->gap_at != HWI_NO_GAP, 0))
    hwi_kept_close_gap(kept);
  if (base)
    complete_nodes(lane, walk.fresh_count ? base : base - 1);
  kept->frame_count = base;
  if (walk.fresh_count && !hwi_kept_add(lane, base, walk.fresh_count, true))
    return walk_unusual(lane, &walk, base, entry);
  return node_of_kept(lane, entry);
}

/* The very same stack as before: a loop that allocates. */
static inline bool is_same_stack(struct hwi_lane *lane, const struct hwi_caller *caller, uint8_t entry)
{
  struct hwi_kept *kept = &lane->kept;
  if (kept->leaf == HWI_NO_LEAF)
    return false;
  struct hwi_frame *last = &kept->frames[kept->leaf];
  if (kept->leaf + 1 != kept->frame_count || kept->leaf_entry != entry ||
      !is_at(last, caller->pc, caller->sp, caller->bp) || !hwi_kept_is_unchanged(kept->words, last->words))
    return false;
  last->bp = caller->bp;
  return true;
}

uint32_t hwi_walk(struct hwi_lane *lane, const struct hwi_caller *caller, uint8_t entry)
{
  bool audited = is_audited(lane);
  if (!hwi_range_enter(&lane->range, caller->sp))
    hwi_walk_forget(lane);
  else if (!audited && is_same_stack(lane, caller, entry))
    return lane->kept.frames[lane->kept.leaf].node;
  return walk_anew(lane, caller, entry, audited);
}
