/* cached_stack.h - the stack that a lane keeps from one event to the next, and whether it is unchanged
 *
 * gap        the position where frames of a too deep stack were left out of the cached frames: between its outer part
 *            and
 * the rest (or outward of all frames, if the outer part is not known). Do not confuse it with a node's cut, which
 * reports show. outer part the frames of a too deep stack that its node names above the cut, and the next frame inward,
 * whose step outward gives the pc of the last of them.
 */
#ifndef HWI_RECORD_UNWIND_CACHED_STACK_H
#define HWI_RECORD_UNWIND_CACHED_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "record/lane.h"
#include "record/unwind/step.h"

enum { HWI_INNER = HWI_CACHED_STACK_INNER }; /* frames at the inner end of a too deep stack that its node names */

/* What is known of the cached frames. All zeros: nothing. */
struct hwi_unchanged {
  uint32_t count; /* the first `count` frames, from the outermost one on, have unchanged steps */
  bool is_exact;  /* the next frame's step has changed, or there is no next frame; false: it was not looked at */
};

/* Forgets the cached stack. */
void hwi_cached_stack_forget(struct hwi_cached_stack *cached);

/* The walk is at the cached frame walk->met - 1. Returns whether every word that the cached walk loaded from there on
 * is unchanged. If not, walk->met becomes the number of frames whose words are unchanged; only those can be met. Counts
 * the verified frames. */
static inline bool hwi_cached_stack_is_met(const struct hwi_cached_stack *cached, struct hwi_walk *walk);

/* Notes that the cached frame `index` has a bp_slot. `index` is above all noted ones. There is room for as many as for
 * frames. */
static inline void hwi_cached_stack_add_bp(struct hwi_cached_stack *cached, uint32_t index)
{
  if (index) /* the caller of frame 0 is not cached, if there is one */
    cached->bps.items[cached->bps.count++] = index;
}

/* To be called when the cached frames from `first` on are dropped or replaced. */
static inline void hwi_cached_stack_drop_bps(struct hwi_cached_stack *cached, uint32_t first)
{
  while (cached->bps.count && cached->bps.items[cached->bps.count - 1] >= first)
    cached->bps.count--;
}

/* Returns the number of frames in the outer part of a too deep stack. */
uint32_t hwi_cached_stack_outer_count(void);

/* A stack is known only from its inner end up to `sp`. Returns how many frames of the cached stack's outer part are
 * also part of it: all or none. */
uint32_t hwi_cached_stack_outer_of(const struct hwi_cached_stack *cached, uintptr_t sp);

/* Makes the first `base` cached frames and the fresh ones the cached stack. Returns false and leaves it unchanged if
 * there is no memory. */
bool hwi_cached_stack_add(struct hwi_lane *lane, uint32_t base, uint32_t fresh_count, bool with_nodes);

/* The same for a too deep stack: bounded, with a gap if necessary. `is_cut`: outward of the fresh frames, only the
 * first `base` frames are known. */
void hwi_cached_stack_add_deep(struct hwi_lane *lane, uint32_t base, uint32_t fresh_count, bool is_cut);

/* A stack that is too deep: the first `base` of the lane's cached frames, then perhaps a gap, then the fresh ones. */
struct hwi_deep {
  uint32_t base, fresh_count;
  bool has_gap;      /* among the cached frames, or between them and the fresh ones */
  uint32_t left_out; /* frames in the gap; 0: unknown */
};

/* Returns its node: the outermost frames (if they are known), a cut, and the innermost frames, with `entry` called from
 * the last. */
uint32_t hwi_deep_node(struct hwi_lane *lane, const struct hwi_deep *deep, uint8_t entry);

/* Notes that the cached stack has no gap any more. */
void hwi_cached_stack_close_gap(struct hwi_cached_stack *cached);

/* --- the comparison, in full: it is on the hot path --- */

/* The words are in the target's frames, where AddressSanitizer allows no reading between variables. */
#define HWI_CACHED_STACK_READS_FRAMES __attribute__((no_sanitize("address")))

/* Returns 0 if the word from which the step outward from `frame` loaded its caller's pc is unchanged. The frame before
 * it in the list is its caller. */
HWI_CACHED_STACK_READS_FRAMES static inline uintptr_t hwi_cached_stack_pc_difference(
    const struct hwi_walked_frame *frame)
{
  const struct hwi_walked_frame *caller = frame - 1;
  return ((const volatile uintptr_t *)caller->sp)[HWI_NO_BP_SLOT] ^ caller->pc;
}

/* The same for the word from which it loaded its caller's bp; the frame has a bp_slot. */
HWI_CACHED_STACK_READS_FRAMES static inline uintptr_t hwi_cached_stack_bp_difference(
    const struct hwi_walked_frame *frame)
{
  const struct hwi_walked_frame *caller = frame - 1;
  return ((const volatile uintptr_t *)caller->sp)[frame->bp_slot] ^ caller->bp;
}

/* Compares four frames, so that the loads need not wait for one another's comparisons. */
static inline bool hwi_cached_stack_do_four_differ(const struct hwi_walked_frame *frame)
{
  return (hwi_cached_stack_pc_difference(&frame[0]) | hwi_cached_stack_pc_difference(&frame[1]) |
          hwi_cached_stack_pc_difference(&frame[2]) | hwi_cached_stack_pc_difference(&frame[3])) != 0;
}

/* Returns whether a walk would continue from the cached frame as from this place. */
static inline bool hwi_cached_stack_is_at(const struct hwi_walked_frame *cached, uintptr_t pc, uintptr_t sp,
                                          uintptr_t bp)
{
  return cached->sp == sp && cached->pc == pc && (cached->bp == bp || cached->bp_is_free);
}

/* Returns the first of the cached frames [first, end) that has a changed odd word, or `end`. */
uint32_t hwi_cached_stack_odd_unchanged(const struct hwi_cached_stack *cached, uint32_t first, uint32_t end);

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
  return __builtin_expect(!cached->odd.count, 1) ? unchanged : hwi_cached_stack_odd_unchanged(cached, first, unchanged);
}

/* hwi_cached_stack_is_met for a walk->met beyond the frames that are verified completely; cached_stack.c describes
 * which words are verified then. */
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
