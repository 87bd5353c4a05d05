/* kept.h - the stack that a lane keeps from one event to the next: is it still what it was?
 *
 * gap        where frames of a stack that is too deep were left out of the kept ones: between its outer part and the rest
 *            (or outward of all, where the outer part is not known). X is not Y: a node's cut is what a report shows.
 * outer part the frames of a too deep stack that its node names above the cut, and the one after them, whose step inward
 *            says where the last of them goes on.
 */
#ifndef HWI_RECORD_KEPT_H
#define HWI_RECORD_KEPT_H

#include <stdbool.h>
#include <stdint.h>

#include "record/lane.h"
#include "record/step.h"

enum { HWI_INNER = HWI_KEPT_INNER }; /* frames named of the inner end of a stack that is too deep */

/* Forgets the kept stack. */
void hwi_kept_forget(struct hwi_kept *kept);

/* The kept frame walk->met - 1 is where the walk is. Is every word unchanged that the rest of the stack hangs on? Else no
 * frame can be met but those outward of the step that changed, and walk->met says so. */
static inline bool hwi_kept_is_met(const struct hwi_kept *kept, struct hwi_walk *walk);

/* Frames of the outer part of a too deep stack. */
uint32_t hwi_kept_outer_count(void);

/* How many frames of the kept stack's outer part are also part of a stack of which only the inner end is known, up to `sp`:
 * all or none. */
uint32_t hwi_kept_outer_of(const struct hwi_kept *kept, uintptr_t sp);

/* Makes the kept stack the first `base` kept frames and the fresh ones. False: no memory, and it is what it was. */
bool hwi_kept_add(struct hwi_lane *lane, uint32_t base, uint32_t fresh_count, bool with_nodes);

/* The same for a stack that is too deep: bounded, with a gap if need be. `is_cut`: what is outward of the fresh frames is
 * not known, but for the first `base` frames. */
void hwi_kept_add_deep(struct hwi_lane *lane, uint32_t base, uint32_t fresh_count, bool is_cut);

/* The kept stack will be one without a gap. */
void hwi_kept_close_gap(struct hwi_kept *kept);

/* --- the comparison, in full: it is on the hot path --- */

/* 0 where the word from which the step outward from `frame` loaded its caller's pc is unchanged. The frame before it in the list
 * is its caller. */
static inline uintptr_t hwi_kept_pc_difference(const struct hwi_frame *frame)
{
  const struct hwi_frame *caller = frame - 1;
  return ((const volatile uintptr_t *)caller->sp)[HWI_NO_BP_SLOT] ^ caller->pc;
}

/* The same for all words that it loaded and that something hangs on. */
static inline uintptr_t hwi_kept_difference(const struct hwi_frame *frame)
{
  const struct hwi_frame *caller = frame - 1;
  uintptr_t other = hwi_kept_pc_difference(frame);
  if (frame->bp_slot != HWI_NO_BP_SLOT)
    other |= ((const volatile uintptr_t *)caller->sp)[frame->bp_slot] ^ caller->bp;
  return other;
}

/* Four frames: the loads need not wait for one another's comparisons. */
static inline bool hwi_kept_do_four_differ(const struct hwi_frame *frame)
{
  uintptr_t other = hwi_kept_pc_difference(&frame[0]) | hwi_kept_pc_difference(&frame[1]) |
                    hwi_kept_pc_difference(&frame[2]) | hwi_kept_pc_difference(&frame[3]);
  if ((frame[0].bp_slot & frame[1].bp_slot & frame[2].bp_slot & frame[3].bp_slot) != HWI_NO_BP_SLOT)
    other |= hwi_kept_difference(&frame[0]) | hwi_kept_difference(&frame[1]) | hwi_kept_difference(&frame[2]) |
             hwi_kept_difference(&frame[3]);
  return other != 0;
}

uint32_t hwi_kept_odd_unchanged(const struct hwi_kept *kept, uint32_t first, uint32_t end);

/* The first of the kept frames [first, end) whose step outward is not what it was; `end`: there is none. */
static inline uint32_t hwi_kept_unchanged(const struct hwi_kept *kept, uint32_t first, uint32_t end)
{
  const struct hwi_frame *frame = kept->frames + (first ? first : 1), *stop = kept->frames + end;
  while (stop - frame >= 4 && !hwi_kept_do_four_differ(frame))
    frame += 4;
  while (frame < stop && !hwi_kept_difference(frame))
    frame++;
  uint32_t unchanged = frame < stop ? (uint32_t)(frame - kept->frames) : end;
  return __builtin_expect(!kept->odd.count, 1) ? unchanged : hwi_kept_odd_unchanged(kept, first, unchanged);
}

bool hwi_kept_is_met_deep(const struct hwi_kept *kept, struct hwi_walk *walk);

static inline bool hwi_kept_is_met(const struct hwi_kept *kept, struct hwi_walk *walk)
{
  if (__builtin_expect(walk->met > kept->exact_count, 0))
    return hwi_kept_is_met_deep(kept, walk);
  walk->verify_count += walk->met;
  if (walk->is_checked)
    return true;
  uint32_t unchanged = hwi_kept_unchanged(kept, 0, walk->met);
  bool is_met = unchanged == walk->met;
  walk->is_checked = true;
  walk->met = unchanged;
  return is_met;
}

#endif
