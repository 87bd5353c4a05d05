/* kept.c - the stack that a lane keeps from one event to the next
 *
 * A stack within some EXACT_FACTOR times the limit is kept and verified whole. Of a deeper one, a node names its outermost
 * and its innermost frames and no other, so that these are what is verified: the words that the outer part's steps loaded,
 * and those of the innermost frames, down to the place where the walk met them. That keeps the time of an event the same at
 * whatever depth. The kept frames themselves are bounded, too: when they become too many, those that follow the outer part
 * are left out. When the program has returned past all frames that are left inward of the gap, a walk of bounded length either
 * reaches the outer part, or becomes the new inner end.
 *
 * What is not looked at is the stretch between. It could hide that the outer part's last frames were left, where a recursion
 * came back to thousands of levels without an event, through a frame so large and so empty that the old words lie unchanged
 * inside of it.
 */
#include "record/kept.h"

#include "record/rows.h"
#include "record/session.h"

enum {
  KEPT_FACTOR = 8,  /* times the limit: frames kept at most */
  EXACT_FACTOR = 2, /* times the limit: frames up to which all is verified */
  FIRST_FRAMES = 64,
};

void hwi_kept_forget(struct hwi_kept *kept)
{
  kept->frame_count = 0;
  kept->word_count = 0;
  kept->leaf = HWI_NO_LEAF;
  kept->gap_at = HWI_NO_GAP;
  kept->exact_count = EXACT_FACTOR * hwi_session.options.depth;
  kept->deep.node = 0;
}

uint32_t hwi_kept_outer_count(void)
{
  return hwi_session.options.depth - HWI_INNER + 1;
}

/* --- comparison --- */

static uint32_t words_below(const struct hwi_kept *kept, uint32_t frame)
{
  return frame ? kept->frames[frame - 1].words : 0;
}

void hwi_kept_check(const struct hwi_kept *kept, struct hwi_walk *walk)
{
  uint32_t count = kept->frames[walk->met - 1].words, unchanged = 0;
  while (unchanged < count && !hwi_kept_difference(&kept->words[unchanged]))
    unchanged++;
  walk->word_count += unchanged;
  walk->is_checked = true;
  while (walk->met > 0 && kept->frames[walk->met - 1].words > unchanged)
    walk->met--;
}

bool hwi_kept_is_met_deep(const struct hwi_kept *kept, struct hwi_walk *walk)
{
  uint32_t most = hwi_kept_outer_count(), outer = kept->gap_at < most ? kept->gap_at : most;
  if (walk->met < outer + HWI_INNER)
    return false; /* the node would name frames that were left out: walk on */
  uint32_t outer_words = words_below(kept, outer), inner_words = words_below(kept, walk->met - HWI_INNER);
  uint32_t words = kept->frames[walk->met - 1].words;
  walk->word_count += outer_words + words - inner_words;
  if (walk->is_checked || (hwi_kept_is_unchanged(kept->words, outer_words) &&
                           hwi_kept_is_unchanged(kept->words + inner_words, words - inner_words)))
    return true;
  hwi_kept_check(kept, walk);
  return false;
}

uint32_t hwi_kept_outer_of(const struct hwi_kept *kept, uintptr_t sp)
{
  uint32_t outer = kept->gap_at != HWI_NO_GAP ? kept->gap_at : hwi_kept_outer_count();
  if (!outer || kept->frame_count < outer || kept->frames[outer - 1].sp <= sp ||
      !hwi_kept_is_unchanged(kept->words, words_below(kept, outer)))
    return 0;
  return outer;
}

/* --- change --- */

static bool make_room(struct hwi_kept *kept, uint32_t frames, uint32_t words)
{
  uint32_t more_frames = frames > FIRST_FRAMES ? 2 * frames : FIRST_FRAMES;
  uint32_t more_words = words > 2 * FIRST_FRAMES ? 2 * words : 2 * FIRST_FRAMES;
  return (frames <= kept->frame_room ||
          hwi_grow((void **)&kept->frames, &kept->frame_room, more_frames, sizeof *kept->frames)) &&
         (words <= kept->word_room ||
          hwi_grow((void **)&kept->words, &kept->word_room, more_words, sizeof *kept->words));
}

bool hwi_kept_add(struct hwi_lane *lane, uint32_t base, uint32_t fresh_count, bool with_nodes)
{
  struct hwi_kept *kept = &lane->kept;
  uint32_t words = words_below(kept, base);
  if (!make_room(kept, base + fresh_count, words + fresh_count * HWI_WALK_MOST_WORDS))
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

static void set_gap(struct hwi_kept *kept, uint32_t at, uint32_t left_out)
{
  kept->gap_at = at;
  kept->left_out = left_out;
  kept->exact_count = at == HWI_NO_GAP ? EXACT_FACTOR * hwi_session.options.depth : at;
}

void hwi_kept_close_gap(struct hwi_kept *kept)
{
  set_gap(kept, HWI_NO_GAP, 0);
}

/* Leaves out so many of the first `base` frames behind the outer part that half of what may be kept remains. The frames that
 * are left. */
static uint32_t leave_out(struct hwi_kept *kept, uint32_t base)
{
  uint32_t most = hwi_kept_outer_count(), outer = kept->gap_at < most ? kept->gap_at : most;
  uint32_t stay = KEPT_FACTOR / 2 * hwi_session.options.depth, dropped = base - outer - stay;
  uint32_t to = words_below(kept, outer), from = words_below(kept, outer + dropped), end = words_below(kept, base);
  bool is_known = kept->gap_at == HWI_NO_GAP || kept->left_out;
  uint32_t left_out = (kept->gap_at == HWI_NO_GAP ? 0 : kept->left_out) + dropped;
  for (uint32_t i = outer; i < outer + stay; i++) {
    kept->frames[i] = kept->frames[i + dropped];
    kept->frames[i].words -= from - to;
  }
  for (uint32_t i = from; i < end; i++)
    kept->words[i - from + to] = kept->words[i];
  set_gap(kept, outer, is_known ? left_out : 0);
  return base - dropped;
}

void hwi_kept_add_deep(struct hwi_lane *lane, uint32_t base, uint32_t fresh_count, bool is_cut)
{
  struct hwi_kept *kept = &lane->kept;
  uint32_t most = KEPT_FACTOR * hwi_session.options.depth;
  if (is_cut)
    set_gap(kept, base, 0);
  else if (base <= kept->gap_at)
    hwi_kept_close_gap(kept);
  if (base + fresh_count > most && base > most / 2 + hwi_kept_outer_count())
    base = leave_out(kept, base);
  if (!hwi_kept_add(lane, base, fresh_count, false))
    hwi_kept_forget(kept);
}
