/* walk.c - from the frame that called an entry point to the node of its whole stack
 *
 * Idea: consecutive stacks share most of their outer frames. The lane caches the previous stack and every word that its
 * walk loaded. Most of these words are the pc or bp of the caller's frame, so they are not stored a second time (see
 * struct hwi_walked_frame). A new walk goes outward from the caller only until it meets a cached frame, which has the
 * same pc, sp and bp. The frames outward of it are verified instead of walked again: their words are compared with
 * those on the stack.
 *
 * Often one function calls another a second time, from another line. The frame of the first one is then equal to its
 * cached frame, but the word with the return address into it has changed. Then the frames inward of that word are
 * walked, and the frames outward of it are met. Often, too, a few stacks alternate: stack_cache.c is for these.
 *
 * Why this is correct: the CFI of loaded code is constant. So the step from a frame to its caller depends only on (pc,
 * sp, bp) and on the words that the step loads. In two cases bp is not compared. (1) The step computes the CFA from sp,
 * and the caller's bp was saved in memory: such code may use bp for anything. (2) No step further outward uses this bp
 * before another step loads a new one: so the word that it was loaded from is not compared either. Therefore, if the
 * frames are equal, and if every word that matters and that the earlier walk loaded from there outward is unchanged,
 * then a new walk would take the same steps to the outermost frame.
 *
 * The lane drops the cached stack when anything else could matter: modules were loaded or unloaded, or the stack
 * pointer left the known range of the stack. A walk is not cached at all if it crossed a signal frame, changed to
 * another stack, or needed the CFI interpreter, whose steps depend on more registers.
 *
 * Cost: walking a frame takes a look-up of a row and two loads. Verifying a frame takes one load and one comparison, or
 * two if its bp matters.
 *
 * Depth: up to the limit a stack is a plain chain of nodes. cached_stack.c makes the node of a deeper one and describes
 * which part of it is verified. A walk that meets no cached frame within FRESH_FACTOR * limit frames gives up.
 */
#include "record/unwind/walk.h"

#include "record/session.h"
#include "record/unwind/cached_stack.h"
#include "record/unwind/nodes.h"
#include "record/unwind/row_cache.h"
#include "record/unwind/stack_cache.h"
#include "record/unwind/step.h"

enum {
  FRESH_FACTOR = 4, /* times the limit: most frames that are walked for one event */
  FIRST_FRAMES = 64,
  AUDIT_EVERY = 1024, /* one of this many spliced stacks is audited, unless all are */
};

void hwi_walk_forget(struct hwi_lane *lane)
{
  hwi_cached_stack_forget(&lane->cached);
}

/* --- the walk --- */

/* Called when the fresh frames are full, with `count` frames. */
static __attribute__((noinline, cold)) bool make_room_fresh(struct hwi_lane *lane, uint32_t count)
{
  if (count >= hwi_session.options.depth * FRESH_FACTOR)
    return false;
  return hwi_lane_grow((void **)&lane->fresh, &lane->fresh_room, count ? 2 * count : FIRST_FRAMES, sizeof *lane->fresh);
}

/* Adds the extra words of the last step to those of the walk, so that they can be cached. */
static bool add_fresh_extra(struct hwi_lane *lane, const struct hwi_walk *walk)
{
  struct hwi_words *extra = &lane->fresh_extra;
  if (extra->count + walk->extra_count > extra->room &&
      !hwi_lane_grow((void **)&extra->items, &extra->room, 2 * extra->count + FIRST_FRAMES, sizeof *extra->items))
    return false;
  for (uint32_t i = 0; i < walk->extra_count; i++)
    extra->items[extra->count++] = walk->extra[i];
  return true;
}

/* Takes one step in the general way, from the last fresh frame: its row is not in the cache yet, or the step is not
 * plain. */
static __attribute__((noinline)) enum hwi_walk_end step_specially(struct hwi_lane *lane, struct hwi_walk *walk,
                                                                  struct hwi_position *at)
{
  struct hwi_walked_frame *frame = &lane->fresh[walk->fresh_count - 1];
  struct hwi_cached_row row = hwi_row_cache_find(lane, at->pc, at->is_interrupted);
  frame->module = row.module;
  frame->pc = at->pc + at->is_interrupted; /* so that pc - 1 is in the instruction, as for a return address */
  enum hwi_walk_end end = hwi_step_outward(walk, row, frame, at);
  if (walk->extra_count && !add_fresh_extra(lane, walk))
    walk->is_cacheable = false;
  return end;
}

/* The cached frame with the index met - 1 has the same sp as `at`. Returns whether pc and bp are the same, too, and all
 * cached frames outward of it are unchanged. */
static inline bool is_met(struct hwi_lane *lane, struct hwi_walk *walk, uint32_t met, const struct hwi_position *at)
{
  struct hwi_walked_frame *frame = &lane->cached.frames[met - 1];
  walk->met = met;
  if (!hwi_cached_stack_is_at(frame, at->pc, at->sp, at->bp) || !walk->is_cacheable ||
      !hwi_cached_stack_is_met(&lane->cached, walk))
    return false;
  frame->bp = at->bp;
  return true;
}

/* Takes plain steps, as long as their rows are cached and no cached frame is met. The frame of the last step is begun,
 * but not completed. Most of the time is spent here: all values that change from frame to frame are in registers. */
static inline enum hwi_walk_end walk_plainly(struct hwi_lane *lane, struct hwi_walk *walk, struct hwi_position *to)
{
  static const struct hwi_row_slot no_slot; /* used if there is no table yet */
  const struct hwi_row_slot *slots = lane->rows.slots ? lane->rows.slots : &no_slot;
  uint32_t slot_count = lane->rows.slots ? lane->rows.count : 1;
  bool may_be_plain = walk->range == &lane->range && !to->is_interrupted && !hwi_walk_has_guessed_sp(walk);
  uintptr_t high = may_be_plain ? lane->range.high : 0; /* 0: no step is plain */
  const struct hwi_walked_frame *cached = lane->cached.frames;
  const struct hwi_walked_frame *candidates_end = cached + walk->met; /* after the innermost one that can be met */
  struct hwi_walked_frame *frame = lane->fresh + walk->fresh_count, *stop = lane->fresh + lane->fresh_room;
  enum hwi_walk_end end = HWI_WALK_GOES_ON;
  struct hwi_position at = *to;
  for (;; frame++) {
    while (candidates_end > cached && candidates_end[-1].sp < at.sp)
      candidates_end--;
    if (candidates_end > cached && candidates_end[-1].sp == at.sp) {
      if (is_met(lane, walk, (uint32_t)(candidates_end - cached), &at)) {
        end = HWI_WALK_MET;
        break;
      }
      candidates_end = cached + walk->met;
    }
    if (__builtin_expect(frame == stop, 0)) {
      uint32_t count = lane->fresh_room;
      if (!make_room_fresh(lane, count)) {
        end = HWI_WALK_TOO_DEEP;
        break;
      }
      frame = lane->fresh + count;
      stop = lane->fresh + lane->fresh_room;
    }
    const struct hwi_row_slot *slot = &slots[hwi_row_cache_place(at.pc, slot_count)];
    frame->pc = at.pc;
    frame->sp = at.sp;
    frame->bp = at.bp;
    frame->module = slot->row.module;
    if (__builtin_expect(slot->key != at.pc || !hwi_step_plainly(high, slot->row, frame, &at), 0)) {
      frame++;
      break;
    }
  }
  walk->met = (uint32_t)(candidates_end - cached);
  walk->fresh_count = (uint32_t)(frame - lane->fresh);
  *to = at;
  return end;
}

/* The memory between the stack pointer and a frame that CFI led to is in use as long as that frame is. The memory that
 * a guess or an invalid step has read may not belong to the stack: another thread may unmap it at any moment. So it is
 * not considered readable from here on, and no words of it are cached, because cached words are read later without a
 * check. */
static void trust_only_the_stack(struct hwi_lane *lane, struct hwi_walk *walk, uintptr_t high_before)
{
  bool has_guessed = walk->guessed_at != HWI_NO_GUESS;
  if (lane->range.high == high_before || !walk->fresh_count || walk->end == HWI_WALK_MET ||
      (walk->end == HWI_WALK_OUTERMOST && !has_guessed))
    return;
  uintptr_t sp = lane->fresh[has_guessed ? walk->guessed_at : walk->fresh_count - 1].sp;
  uintptr_t high = (sp + HWI_OS_PAGE_BYTES - 1) & ~(uintptr_t)(HWI_OS_PAGE_BYTES - 1);
  if (high < high_before)
    high = high_before;
  if (lane->range.high > high) {
    lane->range.high = high;
    walk->is_cacheable = false;
  }
}

enum hwi_walk_end hwi_walk_outward(struct hwi_lane *lane, const struct hwi_caller *caller, struct hwi_walk *walk)
{
  struct hwi_position at = {caller->pc, caller->sp, caller->bp, false};
  uintptr_t high_before = lane->range.high;
  walk->lane = lane;
  walk->range = &lane->range;
  walk->is_cacheable = true;
  walk->is_sp_guessed = false;
  walk->guessed_at = HWI_NO_GUESS;
  walk->verify_count = walk->fresh_count = walk->extra_count = 0;
  lane->fresh_extra.count = 0;
  do {
    walk->end = walk_plainly(lane, walk, &at);
    if (walk->end == HWI_WALK_GOES_ON)
      walk->end = step_specially(lane, walk, &at);
  } while (walk->end == HWI_WALK_GOES_ON);
  trust_only_the_stack(lane, walk, high_before);
  return walk->end;
}

/* --- the audit: a spliced stack is compared with full walks --- */

/* Returns whether a frame of the spliced stack is at this place. */
static bool is_at(const struct hwi_walked_frame *frame, uintptr_t pc, uintptr_t sp)
{
  return frame->pc == pc && frame->sp == sp;
}

/* A full walk also finds the frames of the gap, which the spliced stack lacks. Returns whether their number differs
 * from the known one, which is 0 without a gap. */
static bool is_count_wrong(const struct hwi_cached_stack *cached, bool has_gap, uint32_t left_out)
{
  return has_gap ? cached->left_out && cached->left_out != left_out : left_out != 0;
}

/* Makes the full walk, without splicing, and compares. Its fresh frames replace those of `spliced`, which are the same
 * if the splice is right. */
static bool is_same_by_rows(struct hwi_lane *lane, const struct hwi_caller *caller, const struct hwi_walk *spliced)
{
  struct hwi_walk full;
  const struct hwi_cached_stack *cached = &lane->cached;
  full.met = 0;
  enum hwi_walk_end end = hwi_walk_outward(lane, caller, &full);
  uint32_t depth = spliced->met + spliced->fresh_count, left_out = full.fresh_count - depth;
  if (end == HWI_WALK_TOO_DEEP)
    return true; /* nothing to compare with */
  bool has_gap = spliced->met > cached->gap_at;
  if (full.fresh_count < depth || is_count_wrong(cached, has_gap, left_out))
    return false;
  for (uint32_t i = 0; i < spliced->met; i++) {
    uint32_t from_outermost = i < cached->gap_at ? i : i + left_out;
    const struct hwi_walked_frame *walked = &lane->fresh[full.fresh_count - 1 - from_outermost];
    if (!is_at(&cached->frames[i], walked->pc, walked->sp) ||
        (walked->bp != cached->frames[i].bp && !cached->frames[i].bp_is_free))
      return false;
  }
  return true;
}

/* Walks with the CFI interpreter from the caller on, as far as possible with the three known registers. */
static bool is_same_by_cfi(struct hwi_lane *lane, const struct hwi_caller *caller, const struct hwi_walk *spliced)
{
  struct hwi_registers registers = {.known = hwi_register_bit(HWI_REG_RA) | hwi_register_bit(HWI_REG_SP) |
                                             hwi_register_bit(HWI_REG_BP)};
  registers.value[HWI_REG_RA] = caller->pc;
  registers.value[HWI_REG_SP] = caller->sp;
  registers.value[HWI_REG_BP] = caller->bp;
  uint32_t depth = spliced->met + spliced->fresh_count;
  uint32_t outermost = spliced->met > lane->cached.gap_at ? lane->cached.gap_at : 0; /* to be compared */
  struct hwi_range range = lane->range; /* a copy: pages added because of wrong CFI must not stay in the lane's range */
  for (uint32_t i = depth; i-- > outermost;) {
    uintptr_t pc = registers.value[HWI_REG_RA], sp = registers.value[HWI_REG_SP];
    if (!is_at(i < spliced->met ? &lane->cached.frames[i] : &lane->fresh[depth - 1 - i], pc, sp))
      return false;
    bool is_interrupted = false; /* a spliced stack never crosses a signal frame */
    if (hwi_step_by_cfi(&range, &registers, &is_interrupted) != HWI_STEP_OK)
      return true; /* if the walk continued, it was without CFI */
  }
  return true;
}

/* Called when `walk` ended as HWI_WALK_MET. Walks the stack again without the cached stack, and under HEAPWRIGHT_CHECK
 * a third time with the CFI interpreter instead of rows. Counts the audit and any difference. Returns false if the
 * walks differ; if it returns true, the first walk->fresh_count fresh frames are as before. */
static bool is_splice_right(struct hwi_lane *lane, const struct hwi_caller *caller, struct hwi_walk *walk)
{
  if (!walk->met)
    return true;
  hwi_session_count(&hwi_session.audited, &hwi_session.header->audited_stacks);
  bool same = is_same_by_rows(lane, caller, walk) && (!hwi_session.options.check || is_same_by_cfi(lane, caller, walk));
  if (!same)
    hwi_session_count(&hwi_session.differences, &hwi_session.header->audit_differences);
  return same;
}

/* --- from frames to nodes --- */

/* Finds the nodes of the first `count` fresh frames, outermost first, below `parent`. Returns the innermost one. */
static uint32_t nodes_of_fresh(struct hwi_lane *lane, uint32_t parent, uint32_t count, uint8_t entry)
{
  for (uint32_t i = count; i-- > 0;)
    parent = hwi_row_cache_node(lane, parent, lane->fresh[i].pc, i ? HW_ENTRY_NONE : entry);
  return parent;
}

/* --- the cached stack --- */

/* Returns the node of the cached stack, which is within the limit, for `entry` called from its innermost frame. */
static uint32_t node_of_cached(struct hwi_lane *lane, uint32_t fresh_count, uint8_t entry)
{
  struct hwi_cached_stack *cached = &lane->cached;
  uint32_t last = cached->frame_count - 1;
  if (cached->leaf == last && cached->leaf_entry == entry)
    return cached->frames[last].node;
  uint32_t parent = last ? cached->frames[last - 1].node : 0;
  cached->frames[last].node =
      fresh_count > 1 ? hwi_row_cache_node_inward(lane, parent, cached->frames[last].pc, lane->fresh[0].module, entry)
                      : hwi_row_cache_node(lane, parent, cached->frames[last].pc, entry);
  cached->leaf_entry = entry;
  cached->leaf = last;
  return cached->frames[last].node;
}

/* The leaf's node includes the entry. Forgets it if that frame is not the innermost one of the new stack, which is the
 * first `base` cached frames and the fresh ones. */
static void drop_leaf(struct hwi_cached_stack *cached, uint32_t base, uint32_t fresh_count)
{
  if (cached->leaf == HWI_NO_LEAF || (!fresh_count && cached->leaf + 1 == base))
    return;
  if (cached->leaf < base)
    cached->frames[cached->leaf].node = 0;
  cached->leaf = HWI_NO_LEAF;
}

/* Finds the missing nodes of frames that were cached while the stack was too deep, or whose node was for an entry. */
static void complete_nodes(struct hwi_lane *lane, uint32_t base)
{
  struct hwi_walked_frame *frames = lane->cached.frames;
  uint32_t first = base;
  while (first > 0 && !frames[first - 1].node)
    first--;
  for (uint32_t i = first; i < base; i++)
    frames[i].node = hwi_row_cache_node(lane, i ? frames[i - 1].node : 0, frames[i].pc, HW_ENTRY_NONE);
}

/* Returns the node of a stack that is too deep, must not be cached, or could not be cached for lack of memory. `base`
 * cached frames are part of the stack. */
static uint32_t walk_unusual(struct hwi_lane *lane, const struct hwi_walk *walk, uint32_t base, uint8_t entry)
{
  const struct hwi_cached_stack *cached = &lane->cached;
  struct hwi_deep deep = {.base = base, .fresh_count = walk->fresh_count};
  bool is_cut = walk->end == HWI_WALK_TOO_DEEP;
  deep.has_gap = is_cut || base > cached->gap_at;
  deep.left_out = deep.has_gap && !is_cut ? cached->left_out : 0;
  if (!deep.has_gap && base + walk->fresh_count <= hwi_session.options.depth) {
    if (base)
      complete_nodes(lane, base);
    return nodes_of_fresh(lane, base ? cached->frames[base - 1].node : 0, walk->fresh_count, entry);
  }
  uint32_t node = hwi_deep_node(lane, &deep, entry);
  if (walk->is_cacheable)
    hwi_cached_stack_add_deep(lane, base, walk->fresh_count, is_cut);
  return node;
}

/* Returns how many cached frames, from the outermost one on, are part of the stack. */
static uint32_t base_of(struct hwi_lane *lane, const struct hwi_walk *walk)
{
  switch (walk->end) {
  case HWI_WALK_MET:
    return walk->met;
  case HWI_WALK_TOO_DEEP:
    return walk->is_cacheable ? hwi_cached_stack_outer_of(&lane->cached, lane->fresh[walk->fresh_count - 1].sp) : 0;
  case HWI_WALK_LOST:
    hwi_session_count(&hwi_session.unfinished, &hwi_session.header->unfinished_stacks);
    return 0;
  default:
    return 0;
  }
}

/* Walks a stack that may share frames with the cached one. `unchanged`: see cached_stack.h. */
static void walk_to_cached(struct hwi_lane *lane, const struct hwi_caller *caller, struct hwi_unchanged unchanged,
                           struct hwi_walk *walk)
{
  const struct hwi_cached_stack *cached = &lane->cached;
  hwi_stack_cache_copy_end(lane, &unchanged);
  if (unchanged.count && !unchanged.is_exact) /* some frames are verified: verify the others as well */
    unchanged.count = hwi_cached_stack_unchanged(cached, unchanged.count, cached->frame_count);
  walk->is_checked = unchanged.count || unchanged.is_exact;
  walk->met = walk->is_checked ? unchanged.count : cached->frame_count;
  bool is_audited = walk->is_audited;
  hwi_walk_outward(lane, caller, walk);
  if (walk->end == HWI_WALK_MET && is_audited && !is_splice_right(lane, caller, walk)) {
    hwi_walk_forget(lane); /* and use the full walk */
    walk->met = 0;
    hwi_walk_outward(lane, caller, walk);
  }
}

/* Returns the node of the stack that was walked, which becomes the cached stack. */
static uint32_t node_of_walked(struct hwi_lane *lane, const struct hwi_walk *walk, uint8_t entry)
{
  struct hwi_cached_stack *cached = &lane->cached;
  if (walk->end == HWI_WALK_TOO_DEEP && walk->fresh_count < HWI_INNER)
    return HWI_NODE_UNKNOWN; /* there was no memory for its frames */
  uint32_t base = base_of(lane, walk);
  drop_leaf(cached, base, walk->fresh_count);
  if (__builtin_expect(!walk->is_cacheable || base > cached->gap_at || walk->end == HWI_WALK_TOO_DEEP ||
                           base + walk->fresh_count > hwi_session.options.depth,
                       0))
    return walk_unusual(lane, walk, base, entry);
  if (__builtin_expect(cached->gap_at != HWI_NO_GAP, 0))
    hwi_cached_stack_close_gap(cached);
  if (base)
    complete_nodes(lane, walk->fresh_count ? base : base - 1);
  cached->frame_count = base;
  if (walk->fresh_count && !hwi_cached_stack_add(lane, base, walk->fresh_count, true))
    return walk_unusual(lane, walk, base, entry);
  uint32_t node = node_of_cached(lane, walk->fresh_count, entry);
  if (base && walk->fresh_count && !lane->fresh_extra.count)
    hwi_stack_cache_add(lane, base);
  return node;
}

uint32_t hwi_walk_slow(struct hwi_lane *lane, struct hwi_caller caller, uint8_t entry, struct hwi_unchanged unchanged)
{
  struct hwi_walk walk;
  walk.is_audited = false;
  uint32_t node = 0;
  if (hwi_range_enter(&lane->range, caller.sp)) {
    node = hwi_stack_cache_take_other(lane, caller, entry, &unchanged);
  } else {
    hwi_walk_forget(lane);
    unchanged = (struct hwi_unchanged){0};
  }
  if (node)
    return node;
  walk_to_cached(lane, &caller, unchanged, &walk);
  return node_of_walked(lane, &walk, entry);
}

uint32_t hwi_walk_audited(struct hwi_lane *lane, struct hwi_caller caller, uint8_t entry)
{
  struct hwi_walk walk;
  walk.is_audited = true;
  struct hwi_unchanged unchanged = {0};
  lane->walks_until_audit = hwi_session.options.check ? 0 : AUDIT_EVERY - 1;
  if (!hwi_range_enter(&lane->range, caller.sp))
    hwi_walk_forget(lane);
  else if (!hwi_walk_known(lane, caller, entry, &unchanged))
    hwi_stack_cache_take_other(lane, caller, entry, &unchanged); /* any result is compared */
  walk_to_cached(lane, &caller, unchanged, &walk);
  return node_of_walked(lane, &walk, entry);
}

uint32_t hwi_walk(struct hwi_lane *lane, const struct hwi_caller *caller, uint8_t entry)
{
  return hwi_walk_quickly(lane, *caller, entry);
}
