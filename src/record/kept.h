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

/* "unchanged" is how many of the kept frames, outermost ones first, are known to have unchanged steps. With this bit: of the next
 * one nothing is known; without: its step changed, or there is none. */
#define HWI_AT_LEAST (UINT32_C(1) << 31)

/* Forgets the kept stack. */
void hwi_kept_forget(struct hwi_kept *kept);

/* The kept frame walk->met - 1 is where the walk is: is every word that the kept walk loaded from there on unchanged? If not,
 * walk->met becomes the number of frames of which it is; none but those can be met. Counts what was verified. */
static inline bool hwi_kept_is_met(const struct hwi_kept *kept, struct hwi_walk *walk);

/* The kept frame `index`, which comes after all others that do, has a bp_slot. There is room for as many as for frames. */
static inline void hwi_kept_add_bp(struct hwi_kept *kept, uint32_t index)
{
  if (index) /* the caller of frame 0 is not kept, if there is one */
    kept->bps.items[kept->bps.count++] = index;
}

/* The kept frames from `first` on are no longer kept, or no longer the same. */
static inline void hwi_kept_drop_bps(struct hwi_kept *kept, uint32_t first)
{
  while (kept->bps.count && kept->bps.items[kept->bps.count - 1] >= first)
    kept->bps.count--;
}

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

/* The words lie in the target's frames, between whose variables AddressSanitizer allows no reading. */
#define HWI_KEPT_READS_FRAMES __attribute__((no_sanitize("address")))

/* 0 where the word from which the step outward from `frame` loaded its caller's pc is unchanged. The frame before it in the list
 * is its caller. */
HWI_KEPT_READS_FRAMES static inline uintptr_t hwi_kept_pc_difference(const struct hwi_frame *frame)
{
  const struct hwi_frame *caller = frame - 1;
  return ((const volatile uintptr_t *)caller->sp)[HWI_NO_BP_SLOT] ^ caller->pc;
}

/* The same for the word from which it loaded its caller's bp; the frame has a bp_slot. */
HWI_KEPT_READS_FRAMES static inline uintptr_t hwi_kept_bp_difference(const struct hwi_frame *frame)
{
  const struct hwi_frame *caller = frame - 1;
  return ((const volatile uintptr_t *)caller->sp)[frame->bp_slot] ^ caller->bp;
}

/* Four frames: the loads need not wait for one another's comparisons. */
static inline bool hwi_kept_do_four_differ(const struct hwi_frame *frame)
{
  return (hwi_kept_pc_difference(&frame[0]) | hwi_kept_pc_difference(&frame[1]) | hwi_kept_pc_difference(&frame[2]) |
          hwi_kept_pc_difference(&frame[3])) != 0;
}

/* Would a walk go on from the kept frame as from this place? */
static inline bool hwi_kept_is_at(const struct hwi_frame *kept, uintptr_t pc, uintptr_t sp, uintptr_t bp)
{
  return kept->sp == sp && kept->pc == pc && (kept->bp == bp || kept->bp_is_free);
}

/* The first of the kept frames [first, end) that one of the odd words is of that changed; `end`: there is none. */
uint32_t hwi_kept_odd_unchanged(const struct hwi_kept *kept, uint32_t first, uint32_t end);

/* The first of the frames [first, end) whose step outward would lead to another pc; `end`: there is none. `first` is above 0. */
static inline uint32_t hwi_frames_pcs_unchanged(const struct hwi_frame *frames, uint32_t first, uint32_t end)
{
  const struct hwi_frame *frame = frames + first, *stop = frames + end;
  while (stop - frame >= 4 && !hwi_kept_do_four_differ(frame))
    frame += 4;
  while (frame < stop && !hwi_kept_pc_difference(frame))
    frame++;
  return frame < stop ? (uint32_t)(frame - frames) : end;
}

/* The first of the kept frames [first, end) whose step outward would load another bp that matters; `end`: there is none. */
uint32_t hwi_kept_bps_unchanged(const struct hwi_kept *kept, uint32_t first, uint32_t end);

/* The first of the kept frames [first, end) whose step outward is not what it was; `end`: there is none. */
static inline uint32_t hwi_kept_unchanged(const struct hwi_kept *kept, uint32_t first, uint32_t end)
{
  uint32_t unchanged = hwi_frames_pcs_unchanged(kept->frames, first ? first : 1, end);
  if (kept->bps.count)
    unchanged = hwi_kept_bps_unchanged(kept, first, unchanged);
  return __builtin_expect(!kept->odd.count, 1) ? unchanged : hwi_kept_odd_unchanged(kept, first, unchanged);
}

/* hwi_kept_is_met where walk->met lies beyond the frames that are verified whole: see kept.c for what is verified of those. */
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
