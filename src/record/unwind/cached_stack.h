/* cached_stack.h - the previous stack of a lane, and which of its frames are unchanged
 *
 * gap        the position where frames of a too deep stack were left out of the cached stack: after its outer part, or
 *            outward of all frames if the outer part is not known. Do not confuse it with the cut in a node, which
 *            reports show.
 * outer part the outermost frames of a too deep stack: those that its node names above the cut, and the next frame
 *            inward, whose step outward gives the pc of the last of them.
 */
#ifndef HWI_RECORD_UNWIND_CACHED_STACK_H
#define HWI_RECORD_UNWIND_CACHED_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "record/lane.h"
#include "record/unwind/step.h"

enum { HWI_INNER = HWI_CACHED_STACK_INNER }; /* the node of a too deep stack names this many innermost frames */

/* The frames of the cached stack that are known to be unchanged. All zeros: none. */
struct hwi_unchanged {
  uint32_t count; /* the first `count` frames, from the outermost one on, have unchanged steps */
  bool is_exact;  /* the next frame's step has changed, or there is no next frame; false: it was not looked at */
};

/* Forgets the cached stack. */
void hwi_cached_stack_forget(struct hwi_cached_stack *cached);

/* Called when a walk has reached the cached frame walk->met - 1. Returns whether all words that the earlier walk loaded
 * from this frame outward are unchanged. If not, walk->met becomes the number of frames whose words are unchanged; only
 * those frames can be met later. Counts the verified frames. */
static inline bool hwi_cached_stack_is_met(const struct hwi_cached_stack *cached, struct hwi_walk *walk);

/* Adds `index` to the list of cached frames that have a bp_slot. It is larger than all others in the list, which has
 * room for all frames. */
static inline void hwi_cached_stack_add_bp(struct hwi_cached_stack *cached, uint32_t index)
{
  if (index) /* the caller of frame 0 is not cached, if there is one */
    cached->bps.items[cached->bps.count++] = index;
}

/* Removes the frames from `first` on from that list. To be called when they are dropped or replaced. */
static inline void hwi_cached_stack_drop_bps(struct hwi_cached_stack *cached, uint32_t first)
{
  while (cached->bps.count && cached->bps.items[cached->bps.count - 1] >= first)
    cached->bps.count--;
}

/* Returns the number of frames in the outer part of a too deep stack. */
uint32_t hwi_cached_stack_outer_count(void);

/* Only the frames of a stack from the innermost one to `sp` are known. Returns how many frames of the cached stack's
 * outer part are also part of this stack: all or 0. */
uint32_t hwi_cached_stack_outer_of(const struct hwi_cached_stack *cached, uintptr_t sp);

/* Replaces the cached stack by its first `base` frames and the `fresh_count` fresh frames of the walk. Looks up the
 * nodes of the new frames, except the innermost one, if `with_nodes`. Returns false if there is no memory; then the
 * cached stack is unchanged. */
bool hwi_cached_stack_add(struct hwi_lane *lane, uint32_t base, uint32_t fresh_count, bool with_nodes);

/* Does the same for a too deep stack, of which frames are left out if there are too many. If there is no memory, the
 * cached stack is forgotten. `is_cut`: of the frames outward of the fresh ones, only the first `base` are known. */
void hwi_cached_stack_add_deep(struct hwi_lane *lane, uint32_t base, uint32_t fresh_count, bool is_cut);

/* A too deep stack: the first `base` frames of the cached stack, then perhaps a gap, then the fresh frames. */
struct hwi_deep {
  uint32_t base, fresh_count;
  bool has_gap;      /* among the cached frames, or between them and the fresh ones */
  uint32_t left_out; /* frames in the gap; 0: unknown */
};

/* Returns the node of a too deep stack. It consists of the outermost frames (if they are known), a cut, and the
 * innermost frames, with `entry` called from the last one. */
uint32_t hwi_deep_node(struct hwi_lane *lane, const struct hwi_deep *deep, uint8_t entry);

/* Records that the cached stack has no gap any more. */
void hwi_cached_stack_close_gap(struct hwi_cached_stack *cached);

/* --- the comparison, in full: it is on the hot path --- */

/* For functions that load words from the target's frames: AddressSanitizer forbids loads between its variables. */
#define HWI_CACHED_STACK_READS_FRAMES __attribute__((no_sanitize("address")))

/* Returns the address after the word from which the step outward from `frame` loaded its caller's pc. The caller is the frame
 * before it in the list. */
static inline const volatile uintptr_t *hwi_cached_stack_return_end(const struct hwi_walked_frame *frame)
{
  return (const volatile uintptr_t *)hwi_arch_return_end(frame[-1].sp, frame->return_slot);
}

/* Returns 0 if that word is unchanged. */
HWI_CACHED_STACK_READS_FRAMES static inline uintptr_t hwi_cached_stack_pc_difference(
    const struct hwi_walked_frame *frame)
{
  return hwi_arch_code_address(hwi_cached_stack_return_end(frame)[HWI_NO_BP_SLOT] ^ frame[-1].pc);
}

/* Returns 0 if the word is unchanged from which that step loaded the caller's bp. The frame has a bp_slot. */
HWI_CACHED_STACK_READS_FRAMES static inline uintptr_t hwi_cached_stack_bp_difference(
    const struct hwi_walked_frame *frame)
{
  return hwi_cached_stack_return_end(frame)[frame->bp_slot] ^ frame[-1].bp;
}

/* Returns whether the pc of one of four callers has changed. The four loads need not wait for each other's
 * comparisons. */
static inline bool hwi_cached_stack_do_four_differ(const struct hwi_walked_frame *frame)
{
  return (hwi_cached_stack_pc_difference(&frame[0]) | hwi_cached_stack_pc_difference(&frame[1]) |
          hwi_cached_stack_pc_difference(&frame[2]) | hwi_cached_stack_pc_difference(&frame[3])) != 0;
}

/* Returns whether a walk would take the same steps from the cached frame as from these registers. */
static inline bool hwi_cached_stack_is_at(const struct hwi_walked_frame *cached, uintptr_t pc, uintptr_t sp,
                                          uintptr_t bp)
{
  return cached->sp == sp && cached->pc == pc && (cached->bp == bp || cached->bp_is_free);
}

/* Returns the first of the cached frames [first, end) that has a changed extra word, or `end`. */
uint32_t hwi_cached_stack_extra_unchanged(const struct hwi_cached_stack *cached, uint32_t first, uint32_t end);

/* Returns the first of the frames [first, end) whose step outward would lead to another pc, or `end`. `first` is above
 * 0. */
static inline uint32_t hwi_frames_pcs_unchanged(const struct hwi_walked_frame *frames, uint32_t first, uint32_t end)
{
  const struct hwi_walked_frame *frame = frames + first, *stop = frames + end;
  while (stop - frame >= 4 && !hwi_cached_stack_do_four_differ(frame))
    frame += 4;
  while (frame < stop && !hwi_cached_stack_pc_difference(frame))
    frame++;
  return frame < stop ? (uint32_t)(frame - frames) : end;
}

/* Returns the first of the cached frames [first, end) whose step outward would load another bp that matters, or
 * `end`. */
uint32_t hwi_cached_stack_bps_unchanged(const struct hwi_cached_stack *cached, uint32_t first, uint32_t end);

/* Returns the first of the cached frames [first, end) whose step outward has changed, or `end`. */
static inline uint32_t hwi_cached_stack_unchanged(const struct hwi_cached_stack *cached, uint32_t first, uint32_t end)
{
  uint32_t unchanged = hwi_frames_pcs_unchanged(cached->frames, first ? first : 1, end);
  if (cached->bps.count)
    unchanged = hwi_cached_stack_bps_unchanged(cached, first, unchanged);
  return __builtin_expect(!cached->extra.count, 1) ? unchanged
                                                   : hwi_cached_stack_extra_unchanged(cached, first, unchanged);
}

/* Does the same as hwi_cached_stack_is_met if walk->met is larger than exact_count. cached_stack.c describes which
 * words are verified then. */
bool hwi_cached_stack_is_met_deep(const struct hwi_cached_stack *cached, struct hwi_walk *walk);

static inline bool hwi_cached_stack_is_met(const struct hwi_cached_stack *cached, struct hwi_walk *walk)
{
  if (__builtin_expect(walk->met > cached->exact_count, 0))
    return hwi_cached_stack_is_met_deep(cached, walk);
  walk->verify_count += walk->met;
  if (walk->is_checked)
    return true;
  uint32_t unchanged = hwi_cached_stack_unchanged(cached, 0, walk->met);
  bool is_met = unchanged == walk->met;
  walk->is_checked = true;
  walk->met = unchanged;
  return is_met;
}

#endif
