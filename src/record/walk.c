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
 * Depth: up to `limit` frames a stack is a plain chain of nodes. A deeper one is its outermost limit - INNER frames, a cut,
 * and its innermost INNER frames; the cut says how many were left out only to a power of two, so that a recursion makes new
 * nodes at few of its levels. A walk that meets nothing within FRESH_FACTOR * limit frames gives up: cut at the root.
 */
#include "record/walk.h"

#include "platform/os.h"
#include "record/audit.h"
#include "record/nodes.h"
#include "record/rows.h"
#include "record/step.h"

enum {
  INNER = 32,       /* frames kept of the inner end of a stack that is too deep */
  FRESH_FACTOR = 4, /* times the limit: frames walked at most for one event */
  KEPT_FACTOR = 8,  /* times the limit: frames kept at most */
  FIRST_FRAMES = 64,
  AUDIT_MASK = 1023, /* one spliced stack in 1,024 is audited */
};

void hwi_walk_forget(struct hwi_lane *lane)
{
  lane->kept.frame_count = 0;
  lane->kept.word_count = 0;
  lane->kept.leaf = HWI_NO_LEAF;
}

/* --- the walk --- */

static inline uintptr_t difference(const struct hwi_word *word)
{
  return *(const volatile uintptr_t *)word->address ^ word->value;
}

/* Four at a time, so that the loads need not wait for one another's comparisons. */
static inline bool is_unchanged(const struct hwi_word *words, uint32_t count)
{
  const struct hwi_word *end = words + count;
  for (; end - words >= 4; words += 4)
    if (difference(&words[0]) | difference(&words[1]) | difference(&words[2]) | difference(&words[3]))
      return false;
  for (; words < end; words++)
    if (difference(words))
      return false;
  return true;
}

/* How many words, from the outermost frame's on, are unchanged. */
static uint32_t unchanged_count(const struct hwi_word *words, uint32_t count)
{
  uint32_t i = 0;
  while (i < count && !difference(&words[i]))
    i++;
  return i;
}

/* Is every word unchanged that was loaded from this kept frame on? Else no frame can be met but those outward of the word
 * that changed. */
static bool is_met(const struct hwi_kept *kept, struct hwi_walk *walk)
{
  uint32_t words = kept->frames[walk->met - 1].words;
  if (walk->is_checked || is_unchanged(kept->words, words))
    return true;
  uint32_t unchanged = unchanged_count(kept->words, words);
  walk->is_checked = true;
  while (walk->met > 0 && kept->frames[walk->met - 1].words > unchanged)
    walk->met--;
  return false;
}

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
      if (is_met(&lane->kept, walk)) {
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

static uint32_t node_of_frame(struct hwi_lane *lane, uint32_t parent, uintptr_t pc, uint8_t entry)
{
  return hwi_rows_node(lane, parent, pc, hwi_rows_find(lane, pc, false).module, entry);
}

/* The nodes of the frames [first, count) of the fresh ones, outermost first, below `parent`. */
static uint32_t nodes_of_fresh(struct hwi_lane *lane, uint32_t parent, uint32_t count, uint8_t entry)
{
  for (uint32_t i = count; i-- > 0;)
    parent = hwi_nodes_find(lane, parent, lane->fresh[i].pc, lane->fresh[i].module, i ? HW_ENTRY_NONE : entry);
  return parent;
}

static uint32_t power_of_two_below(uint32_t count)
{
  return UINT32_C(1) << (31 - __builtin_clz(count));
}

/* A stack of `depth` frames, deeper than the limit: the frames below `base` are kept, the others fresh. */
static uint32_t node_of_deep(struct hwi_lane *lane, uint32_t base, uint32_t depth, uint8_t entry)
{
  uint32_t limit = hwi_session.options.depth, outer = limit - INNER, parent = 0;
  hwi_session_count(&hwi_session.truncated, &hwi_session.header->truncated_stacks);
  bool is_known = base >= outer && lane->kept.frames[outer - 1].node;
  if (is_known)
    parent = lane->kept.frames[outer - 1].node;
  for (uint32_t i = is_known ? outer : 0; i < outer; i++) {
    const struct hwi_walked *fresh = i < base ? NULL : &lane->fresh[depth - 1 - i];
    struct hwi_frame *kept = i < base ? &lane->kept.frames[i] : NULL;
    if (kept && kept->node) {
      parent = kept->node;
      continue;
    }
    parent = node_of_frame(lane, parent, kept ? kept->pc : fresh->pc, HW_ENTRY_NONE);
    if (kept)
      kept->node = parent;
  }
  parent = hwi_nodes_find(lane, parent, power_of_two_below(depth - limit), 0, HW_NODE_CUT);
  for (uint32_t i = depth - INNER; i < depth; i++)
    parent = node_of_frame(lane, parent, i < base ? lane->kept.frames[i].pc : lane->fresh[depth - 1 - i].pc,
                           i + 1 < depth ? HW_ENTRY_NONE : entry);
  return parent;
}

/* The walk ended before any known frame: only the inner end of the stack is known. */
static uint32_t node_of_inner_end(struct hwi_lane *lane, uint8_t entry)
{
  hwi_session_count(&hwi_session.truncated, &hwi_session.header->truncated_stacks);
  return nodes_of_fresh(lane, hwi_nodes_find(lane, 0, 0, 0, HW_NODE_CUT), INNER, entry);
}

/* --- the kept stack --- */

static bool make_room_kept(struct hwi_kept *kept, uint32_t frames, uint32_t words)
{
  uint32_t more_frames = frames > FIRST_FRAMES ? 2 * frames : FIRST_FRAMES;
  uint32_t more_words = words > 2 * FIRST_FRAMES ? 2 * words : 2 * FIRST_FRAMES;
  return (frames <= kept->frame_room ||
          hwi_grow((void **)&kept->frames, &kept->frame_room, more_frames, sizeof *kept->frames)) &&
         (words <= kept->word_room ||
          hwi_grow((void **)&kept->words, &kept->word_room, more_words, sizeof *kept->words));
}

/* Makes the kept stack the first `base` kept frames and the fresh ones. */
static bool keep_fresh(struct hwi_lane *lane, uint32_t base, uint32_t fresh_count, bool with_nodes)
{
  struct hwi_kept *kept = &lane->kept;
  uint32_t words = base ? kept->frames[base - 1].words : 0;
  if (!make_room_kept(kept, base + fresh_count, words + fresh_count * HWI_WALK_MOST_WORDS))
    return false;
  uint32_t parent = base ? kept->frames[base - 1].node : 0;
  kept->frame_count = base;
  for (uint32_t i = fresh_count; i-- > 0;) {
    const struct hwi_walked *from = &lane->fresh[i];
    for (uint32_t w = 0; w < from->word_count; w++)
      kept->words[words++] = from->words[w];
    if (with_nodes && i)
      parent = hwi_rows_node(lane, parent, from->pc, from->module, HW_ENTRY_NONE);
    kept->frames[kept->frame_count++] =
        (struct hwi_frame){from->pc, from->sp, from->bp, with_nodes && i ? parent : 0, words, from->bp_is_free};
  }
  kept->word_count = words;
  return true;
}

/* The node of the kept stack, which is within the limit, for `entry` called from its innermost frame. */
static uint32_t node_of_kept(struct hwi_lane *lane, uint8_t entry)
{
  struct hwi_kept *kept = &lane->kept;
  uint32_t last = kept->frame_count - 1;
  if (kept->leaf == last && kept->leaf_entry == entry)
    return kept->frames[last].node;
  uint32_t parent = last ? kept->frames[last - 1].node : 0;
  kept->frames[last].node = node_of_frame(lane, parent, kept->frames[last].pc, entry);
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
    frames[i].node = node_of_frame(lane, i ? frames[i - 1].node : 0, frames[i].pc, HW_ENTRY_NONE);
}

static bool is_audited(struct hwi_lane *lane)
{
  return (++lane->event_count & AUDIT_MASK) == 0 || hwi_session.options.check;
}

/* Stacks that are seldom: too deep, not to be kept, or without memory to keep them. */
static uint32_t walk_unusual(struct hwi_lane *lane, const struct hwi_walk *walk, uint32_t base, uint8_t entry)
{
  uint32_t depth = base + walk->fresh_count, limit = hwi_session.options.depth;
  if (depth <= limit) {
    if (base)
      complete_nodes(lane, base);
    return nodes_of_fresh(lane, base ? lane->kept.frames[base - 1].node : 0, walk->fresh_count, entry);
  }
  uint32_t node = node_of_deep(lane, base, depth, entry);
  if (walk->keepable && depth <= limit * KEPT_FACTOR)
    keep_fresh(lane, base, walk->fresh_count, false);
  return node;
}

/* A stack that is not the one before. */
static uint32_t walk_anew(struct hwi_lane *lane, const struct hwi_caller *caller, uint8_t entry, bool audited)
{
  struct hwi_walk walk;
  enum hwi_walk_end end = hwi_walk_outward(lane, caller, lane->kept.frame_count > 0, &walk);
  if (end == HWI_WALK_MET && audited && !hwi_audit_is_same(lane, caller, &walk)) {
    hwi_walk_forget(lane); /* and believe the full walk */
    end = hwi_walk_outward(lane, caller, false, &walk);
  }
  struct hwi_kept *kept = &lane->kept;
  if (end == HWI_WALK_TOO_DEEP) /* a walk without memory for a single frame ends so, too */
    return walk.fresh_count >= INNER ? node_of_inner_end(lane, entry) : HWI_NODE_UNKNOWN;
  if (end == HWI_WALK_LOST)
    hwi_session_count(&hwi_session.unfinished, &hwi_session.header->unfinished_stacks);
  uint32_t base = end == HWI_WALK_MET ? walk.met : 0;
  drop_leaf(kept, base, walk.fresh_count);
  if (__builtin_expect(!walk.keepable || base + walk.fresh_count > hwi_session.options.depth, 0))
    return walk_unusual(lane, &walk, base, entry);
  if (base)
    complete_nodes(lane, walk.fresh_count ? base : base - 1);
  kept->frame_count = base;
  if (walk.fresh_count && !keep_fresh(lane, base, walk.fresh_count, true))
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
      !is_at(last, caller->pc, caller->sp, caller->bp) || !is_unchanged(kept->words, last->words))
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
