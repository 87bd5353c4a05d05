/* cached_stack.c - the stack that a lane keeps from one event to the next
 *
 * A stack of up to about EXACT_FACTOR times the limit is kept and verified completely. The node of a deeper stack names
 * only its outermost and innermost frames, so only these are verified: the words that the outer part's steps loaded,
 * and the words of the steps between the innermost frames, down to the place where the walk met them. So the time of an
 * event does not depend on the depth. The kept frames themselves are also bounded: when there are too many, those after
 * the outer part are left out. When the program has returned past all frames that remain inward of the gap, a walk of
 * bounded length either reaches the outer part, or becomes the new inner end.
 *
 * The frames in between are not verified. So one case is not detected: the program returned from the outer part's last
 * frames, and a recursion came back to thousands of levels without an event, through a frame so large and so sparsely
 * written that the old words are unchanged inside it.
 */
#include "record/unwind/cached_stack.h"

#include "platform/os.h"
#include "record/session.h"
#include "record/unwind/row_cache.h"

enum {
  KEPT_FACTOR = 8,  /* times the limit: most frames that are kept */
  EXACT_FACTOR = 2, /* times the limit: up to this many frames, all are verified */
  FIRST_FRAMES = 64,
};

void hwi_cached_stack_forget(struct hwi_cached_stack *kept)
{
  kept->frame_count = 0;
  kept->tip = NULL;
  kept->odd.count = 0;
  kept->bps.count = 0;
  kept->leaf = HWI_NO_LEAF;
  kept->gap_at = HWI_NO_GAP;
  kept->exact_count = EXACT_FACTOR * hwi_session.options.depth;
  kept->deep.node = 0;
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
static uint32_t first_bps_at(const struct hwi_cached_stack *kept, uint32_t first)
{
  uint32_t low = 0, high = kept->bps.count;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (kept->bps.items[middle] < first)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

uint32_t hwi_cached_stack_bps_unchanged(const struct hwi_cached_stack *kept, uint32_t first, uint32_t end)
{
  for (uint32_t i = first ? first_bps_at(kept, first) : 0; i < kept->bps.count && kept->bps.items[i] < end; i++)
    if (hwi_cached_stack_bp_difference(&kept->frames[kept->bps.items[i]]))
      return kept->bps.items[i];
  return end;
}

static bool is_step_unchanged(const struct hwi_walked_frame *frame)
{
  return !hwi_cached_stack_pc_difference(frame) &&
         (frame->bp_slot == HWI_NO_BP_SLOT || !hwi_cached_stack_bp_difference(frame));
}

uint32_t hwi_cached_stack_odd_unchanged(const struct hwi_cached_stack *kept, uint32_t first, uint32_t end)
{
  for (uint32_t i = 0; i < kept->odd.count && kept->odd.items[i].frame < end; i++)
    if (kept->odd.items[i].frame >= first && !is_same_word(&kept->odd.items[i]))
      return kept->odd.items[i].frame;
  return end;
}

/* The caller of the first frame after the gap is not kept. Its step cannot be verified; no reported frame depends on
 * it. */
static void check_with_gap(const struct hwi_cached_stack *kept, struct hwi_walk *walk)
{
  uint32_t unchanged = 1;
  while (unchanged < walk->met && (unchanged == kept->gap_at || is_step_unchanged(&kept->frames[unchanged])))
    unchanged++;
  for (uint32_t i = 0; i < kept->odd.count; i++)
    if (kept->odd.items[i].frame < unchanged && !is_same_word(&kept->odd.items[i]))
      unchanged = kept->odd.items[i].frame;
  walk->verify_count += unchanged;
  walk->is_checked = true;
  walk->met = unchanged < walk->met ? unchanged : walk->met;
}

bool hwi_cached_stack_is_met_deep(const struct hwi_cached_stack *kept, struct hwi_walk *walk)
{
  uint32_t most = hwi_cached_stack_outer_count(), outer = kept->gap_at < most ? kept->gap_at : most;
  if (walk->met < outer + HWI_INNER)
    return false;                             /* the node would name frames that were left out: continue the walk */
  uint32_t inner = walk->met - HWI_INNER + 1; /* its step leads to the last frame that the node names */
  walk->verify_count += outer + walk->met - inner;
  if (walk->is_checked || (hwi_cached_stack_unchanged(kept, 0, outer) == outer &&
                           hwi_cached_stack_unchanged(kept, inner, walk->met) == walk->met))
    return true;
  check_with_gap(kept, walk);
  return false;
}

uint32_t hwi_cached_stack_outer_of(const struct hwi_cached_stack *kept, uintptr_t sp)
{
  uint32_t outer = kept->gap_at != HWI_NO_GAP ? kept->gap_at : hwi_cached_stack_outer_count();
  if (!outer || kept->frame_count < outer || kept->frames[outer - 1].sp <= sp ||
      hwi_cached_stack_unchanged(kept, 0, outer) != outer)
    return 0;
  return outer;
}

/* --- change --- */

/* Grows the list of bps first, and for as many frames as may fit in whole pages: later only the frames' room is
 * checked. */
static bool make_frame_room(struct hwi_cached_stack *kept, uint32_t frames)
{
  uint32_t more = frames > FIRST_FRAMES ? 2 * frames : FIRST_FRAMES;
  uint32_t most = more + HWI_OS_PAGE_BYTES / (uint32_t)sizeof *kept->frames;
  return (most <= kept->bps.room ||
          hwi_lane_grow((void **)&kept->bps.items, &kept->bps.room, most, sizeof *kept->bps.items)) &&
         hwi_lane_grow((void **)&kept->frames, &kept->frame_room, more, sizeof *kept->frames);
}

static bool make_room(struct hwi_cached_stack *kept, uint32_t frames, uint32_t words)
{
  return (frames <= kept->frame_room || make_frame_room(kept, frames)) &&
         (words <= kept->odd.room ||
          hwi_lane_grow((void **)&kept->odd.items, &kept->odd.room, 2 * words, sizeof *kept->odd.items));
}

/* Keeps the odd words of the first `base` frames and adds those of the fresh ones; there is room. */
static void add_odd(struct hwi_lane *lane, uint32_t base, uint32_t fresh_count)
{
  struct hwi_words *odd = &lane->kept.odd;
  while (odd->count && odd->items[odd->count - 1].frame >= base)
    odd->count--;
  for (uint32_t i = lane->fresh_odd.count; i-- > 0;) {
    struct hwi_word word = lane->fresh_odd.items[i];
    if (word.frame >= fresh_count)
      continue; /* it is from a full walk that audited this one */
    word.frame = base + fresh_count - 1 - word.frame;
    odd->items[odd->count++] = word;
  }
}

bool hwi_cached_stack_add(struct hwi_lane *lane, uint32_t base, uint32_t fresh_count, bool with_nodes)
{
  struct hwi_cached_stack *kept = &lane->kept;
  if (__builtin_expect(base + fresh_count > kept->frame_room || lane->fresh_odd.count || kept->odd.count, 0)) {
    if (!make_room(kept, base + fresh_count, kept->odd.count + lane->fresh_odd.count))
      return false;
    add_odd(lane, base, fresh_count);
  }
  uint32_t parent = base ? kept->frames[base - 1].node : 0;
  bool is_bp_free = base ? kept->frames[base - 1].bp_is_free : true; /* whether it is free in the caller */
  if (base == kept->gap_at)
    is_bp_free = false;
  hwi_cached_stack_drop_bps(kept, base);
  struct hwi_walked_frame *to = kept->frames + base;
  for (uint32_t i = fresh_count; i-- > 0; to++) {
    *to = lane->fresh[i];
    uint32_t module = to->node;
    to->node = 0;
    if (is_bp_free)
      to->bp_slot = HWI_NO_BP_SLOT;
    if (to->bp_slot != HWI_NO_BP_SLOT)
      hwi_cached_stack_add_bp(kept, (uint32_t)(to - kept->frames));
    is_bp_free = to->bp_is_free |= is_bp_free & to->bp_passes;
    if (with_nodes && i)
      to->node = parent = i + 1 < fresh_count ? hwi_row_cache_node_inward(lane, parent, to->pc, module, HW_ENTRY_NONE)
                                              : hwi_row_cache_node(lane, parent, to->pc, HW_ENTRY_NONE);
  }
  kept->frame_count = base + fresh_count;
  return true;
}

static void set_gap(struct hwi_cached_stack *kept, uint32_t at, uint32_t left_out)
{
  kept->gap_at = at;
  kept->left_out = left_out;
  kept->exact_count = at == HWI_NO_GAP ? EXACT_FACTOR * hwi_session.options.depth : at;
}

void hwi_cached_stack_close_gap(struct hwi_cached_stack *kept)
{
  set_gap(kept, HWI_NO_GAP, 0);
}

/* Leaves out some of the first `base` frames, after the outer part, so that half of the allowed number remains. Returns
 * the number of frames that are left. */
static uint32_t leave_out(struct hwi_cached_stack *kept, uint32_t base)
{
  uint32_t most = hwi_cached_stack_outer_count(), outer = kept->gap_at < most ? kept->gap_at : most;
  uint32_t stay = KEPT_FACTOR / 2 * hwi_session.options.depth, dropped = base - outer - stay;
  bool is_known = kept->gap_at == HWI_NO_GAP || kept->left_out;
  uint32_t left_out = (kept->gap_at == HWI_NO_GAP ? 0 : kept->left_out) + dropped;
  for (uint32_t i = outer; i < outer + stay; i++)
    kept->frames[i] = kept->frames[i + dropped];
  uint32_t words = 0;
  for (uint32_t i = 0; i < kept->odd.count; i++) {
    struct hwi_word word = kept->odd.items[i];
    if (word.frame >= outer && word.frame < outer + dropped)
      continue;
    word.frame -= word.frame >= outer ? dropped : 0;
    kept->odd.items[words++] = word;
  }
  kept->odd.count = words;
  hwi_cached_stack_drop_bps(kept, outer);
  for (uint32_t i = outer; i < outer + stay; i++)
    if (kept->frames[i].bp_slot != HWI_NO_BP_SLOT)
      hwi_cached_stack_add_bp(kept, i);
  set_gap(kept, outer, is_known ? left_out : 0);
  return base - dropped;
}

void hwi_cached_stack_add_deep(struct hwi_lane *lane, uint32_t base, uint32_t fresh_count, bool is_cut)
{
  struct hwi_cached_stack *kept = &lane->kept;
  uint32_t most = KEPT_FACTOR * hwi_session.options.depth;
  if (is_cut)
    set_gap(kept, base, 0);
  else if (base <= kept->gap_at)
    hwi_cached_stack_close_gap(kept);
  if (base + fresh_count > most && base > most / 2 + hwi_cached_stack_outer_count())
    base = leave_out(kept, base);
  if (!hwi_cached_stack_add(lane, base, fresh_count, false))
    hwi_cached_stack_forget(kept);
}
