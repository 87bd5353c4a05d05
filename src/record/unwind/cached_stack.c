/* cached_stack.c - the stack that a lane keeps from one event to the next
 *
 * A stack of up to about EXACT_FACTOR times the limit is cached and verified completely. The node of a deeper stack
 * names only its outermost and innermost frames, so only these are verified: the words that the outer part's steps
 * loaded, and the words of the steps between the innermost frames, down to the place where the walk met them. So the
 * time of an event does not depend on the depth. The cached frames themselves are also bounded: when there are too
 * many, those after the outer part are left out. When the program has returned past all frames that remain inward of
 * the gap, a walk of bounded length either reaches the outer part, or becomes the new inner end.
 *
 * The cut gives the number of omitted frames only as a power of two, so that a recursion makes new nodes at few of its
 * levels. If the outer part is not known, the cut is at the root.
 *
 * The frames in between are not verified. So one case is not detected: the program returned from the outer part's last
 * frames, and a recursion came back to thousands of levels without an event, through a frame so large and so sparsely
 * written that the old words are unchanged inside it.
 */
#include "record/unwind/cached_stack.h"

#include "platform/os.h"
#include "record/session.h"
#include "record/unwind/nodes.h"
#include "record/unwind/row_cache.h"

enum {
  CACHED_FACTOR = 8, /* times the limit: most frames that are cached */
  EXACT_FACTOR = 2,  /* times the limit: up to this many frames, all are verified */
  FIRST_FRAMES = 64,
};

void hwi_cached_stack_forget(struct hwi_cached_stack *cached)
{
  cached->frame_count = 0;
  cached->inner_end = NULL;
  cached->extra.count = 0;
  cached->bps.count = 0;
  cached->leaf = HWI_NO_LEAF;
  cached->gap_at = HWI_NO_GAP;
  cached->exact_count = EXACT_FACTOR * hwi_session.options.depth;
  cached->deep.node = 0;
}

uint32_t hwi_cached_stack_outer_count(void)
{
  return hwi_session.options.depth - HWI_INNER + 1;
}

/* --- comparison --- */

static bool is_same_word(const struct hwi_word *word)
{
  return *(const volatile uintptr_t *)word->address == word->value;
}

/* Returns the index in `bps` of the first frame that is not before `first`. */
static uint32_t first_bps_at(const struct hwi_cached_stack *cached, uint32_t first)
{
  uint32_t low = 0, high = cached->bps.count;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (cached->bps.items[middle] < first)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

uint32_t hwi_cached_stack_bps_unchanged(const struct hwi_cached_stack *cached, uint32_t first, uint32_t end)
{
  for (uint32_t i = first ? first_bps_at(cached, first) : 0; i < cached->bps.count && cached->bps.items[i] < end; i++)
    if (hwi_cached_stack_bp_difference(&cached->frames[cached->bps.items[i]]))
      return cached->bps.items[i];
  return end;
}

static bool is_step_unchanged(const struct hwi_walked_frame *frame)
{
  return !hwi_cached_stack_pc_difference(frame) &&
         (frame->bp_slot == HWI_NO_BP_SLOT || !hwi_cached_stack_bp_difference(frame));
}

uint32_t hwi_cached_stack_extra_unchanged(const struct hwi_cached_stack *cached, uint32_t first, uint32_t end)
{
  for (uint32_t i = 0; i < cached->extra.count && cached->extra.items[i].frame < end; i++)
    if (cached->extra.items[i].frame >= first && !is_same_word(&cached->extra.items[i]))
      return cached->extra.items[i].frame;
  return end;
}

/* The caller of the first frame after the gap is not cached. Its step cannot be verified; no reported frame depends on
 * it. */
static void check_with_gap(const struct hwi_cached_stack *cached, struct hwi_walk *walk)
{
  uint32_t unchanged = 1;
  while (unchanged < walk->met && (unchanged == cached->gap_at || is_step_unchanged(&cached->frames[unchanged])))
    unchanged++;
  for (uint32_t i = 0; i < cached->extra.count; i++)
    if (cached->extra.items[i].frame < unchanged && !is_same_word(&cached->extra.items[i]))
      unchanged = cached->extra.items[i].frame;
  walk->verify_count += unchanged;
  walk->is_checked = true;
  walk->met = unchanged < walk->met ? unchanged : walk->met;
}

bool hwi_cached_stack_is_met_deep(const struct hwi_cached_stack *cached, struct hwi_walk *walk)
{
  uint32_t most = hwi_cached_stack_outer_count(), outer = cached->gap_at < most ? cached->gap_at : most;
  if (walk->met < outer + HWI_INNER)
    return false;                             /* the node would name frames that were left out: continue the walk */
  uint32_t inner = walk->met - HWI_INNER + 1; /* its step leads to the last frame that the node names */
  walk->verify_count += outer + walk->met - inner;
  if (walk->is_checked || (hwi_cached_stack_unchanged(cached, 0, outer) == outer &&
                           hwi_cached_stack_unchanged(cached, inner, walk->met) == walk->met))
    return true;
  check_with_gap(cached, walk);
  return false;
}

uint32_t hwi_cached_stack_outer_of(const struct hwi_cached_stack *cached, uintptr_t sp)
{
  uint32_t outer = cached->gap_at != HWI_NO_GAP ? cached->gap_at : hwi_cached_stack_outer_count();
  if (!outer || cached->frame_count < outer || cached->frames[outer - 1].sp <= sp ||
      hwi_cached_stack_unchanged(cached, 0, outer) != outer)
    return 0;
  return outer;
}

/* --- change --- */

/* Grows the list of bps first, and for as many frames as may fit in whole pages: later only the frames' room is
 * checked. */
static bool make_frame_room(struct hwi_cached_stack *cached, uint32_t frames)
{
  uint32_t more = frames > FIRST_FRAMES ? 2 * frames : FIRST_FRAMES;
  uint32_t most = more + HWI_OS_PAGE_BYTES / (uint32_t)sizeof *cached->frames;
  return (most <= cached->bps.room ||
          hwi_lane_grow((void **)&cached->bps.items, &cached->bps.room, most, sizeof *cached->bps.items)) &&
         hwi_lane_grow((void **)&cached->frames, &cached->frame_room, more, sizeof *cached->frames);
}

static bool make_room(struct hwi_cached_stack *cached, uint32_t frames, uint32_t words)
{
  return (frames <= cached->frame_room || make_frame_room(cached, frames)) &&
         (words <= cached->extra.room ||
          hwi_lane_grow((void **)&cached->extra.items, &cached->extra.room, 2 * words, sizeof *cached->extra.items));
}

/* Keeps the extra words of the first `base` frames and adds those of the fresh ones; there is room. */
static void add_extra(struct hwi_lane *lane, uint32_t base, uint32_t fresh_count)
{
  struct hwi_words *extra = &lane->cached.extra;
  while (extra->count && extra->items[extra->count - 1].frame >= base)
    extra->count--;
  for (uint32_t i = lane->fresh_extra.count; i-- > 0;) {
    struct hwi_word word = lane->fresh_extra.items[i];
    if (word.frame >= fresh_count)
      continue; /* it is from a full walk that audited this one */
    word.frame = base + fresh_count - 1 - word.frame;
    extra->items[extra->count++] = word;
  }
}

bool hwi_cached_stack_add(struct hwi_lane *lane, uint32_t base, uint32_t fresh_count, bool with_nodes)
{
  struct hwi_cached_stack *cached = &lane->cached;
  if (__builtin_expect(base + fresh_count > cached->frame_room || lane->fresh_extra.count || cached->extra.count, 0)) {
    if (!make_room(cached, base + fresh_count, cached->extra.count + lane->fresh_extra.count))
      return false;
    add_extra(lane, base, fresh_count);
  }
  uint32_t parent = base ? cached->frames[base - 1].node : 0;
  bool is_bp_free = base ? cached->frames[base - 1].bp_is_free : true; /* whether it is free in the caller */
  if (base == cached->gap_at)
    is_bp_free = false;
  hwi_cached_stack_drop_bps(cached, base);
  struct hwi_walked_frame *to = cached->frames + base;
  for (uint32_t i = fresh_count; i-- > 0; to++) {
    *to = lane->fresh[i];
    uint32_t module = to->module;
    to->node = 0;
    if (is_bp_free)
      to->bp_slot = HWI_NO_BP_SLOT;
    if (to->bp_slot != HWI_NO_BP_SLOT)
      hwi_cached_stack_add_bp(cached, (uint32_t)(to - cached->frames));
    is_bp_free = to->bp_is_free |= is_bp_free & to->bp_passes;
    if (with_nodes && i)
      to->node = parent = i + 1 < fresh_count ? hwi_row_cache_node_inward(lane, parent, to->pc, module, HW_ENTRY_NONE)
                                              : hwi_row_cache_node(lane, parent, to->pc, HW_ENTRY_NONE);
  }
  cached->frame_count = base + fresh_count;
  return true;
}

static void set_gap(struct hwi_cached_stack *cached, uint32_t at, uint32_t left_out)
{
  cached->gap_at = at;
  cached->left_out = left_out;
  cached->exact_count = at == HWI_NO_GAP ? EXACT_FACTOR * hwi_session.options.depth : at;
}

void hwi_cached_stack_close_gap(struct hwi_cached_stack *cached)
{
  set_gap(cached, HWI_NO_GAP, 0);
}

/* Leaves out some of the first `base` frames, after the outer part, so that half of the allowed number remains. Returns
 * the number of frames that are left. */
static uint32_t leave_out(struct hwi_cached_stack *cached, uint32_t base)
{
  uint32_t most = hwi_cached_stack_outer_count(), outer = cached->gap_at < most ? cached->gap_at : most;
  uint32_t stay = CACHED_FACTOR / 2 * hwi_session.options.depth, dropped = base - outer - stay;
  bool is_known = cached->gap_at == HWI_NO_GAP || cached->left_out;
  uint32_t left_out = (cached->gap_at == HWI_NO_GAP ? 0 : cached->left_out) + dropped;
  for (uint32_t i = outer; i < outer + stay; i++)
    cached->frames[i] = cached->frames[i + dropped];
  uint32_t words = 0;
  for (uint32_t i = 0; i < cached->extra.count; i++) {
    struct hwi_word word = cached->extra.items[i];
    if (word.frame >= outer && word.frame < outer + dropped)
      continue;
    word.frame -= word.frame >= outer ? dropped : 0;
    cached->extra.items[words++] = word;
  }
  cached->extra.count = words;
  hwi_cached_stack_drop_bps(cached, outer);
  for (uint32_t i = outer; i < outer + stay; i++)
    if (cached->frames[i].bp_slot != HWI_NO_BP_SLOT)
      hwi_cached_stack_add_bp(cached, i);
  set_gap(cached, outer, is_known ? left_out : 0);
  return base - dropped;
}

void hwi_cached_stack_add_deep(struct hwi_lane *lane, uint32_t base, uint32_t fresh_count, bool is_cut)
{
  struct hwi_cached_stack *cached = &lane->cached;
  uint32_t most = CACHED_FACTOR * hwi_session.options.depth;
  if (is_cut)
    set_gap(cached, base, 0);
  else if (base <= cached->gap_at)
    hwi_cached_stack_close_gap(cached);
  if (base + fresh_count > most && base > most / 2 + hwi_cached_stack_outer_count())
    base = leave_out(cached, base);
  if (!hwi_cached_stack_add(lane, base, fresh_count, false))
    hwi_cached_stack_forget(cached);
}

/* --- the node of a too deep stack --- */

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
