/* step.h - one step of a walk, from a frame to its caller
 *
 * position   of a walk: pc, sp and bp of the frame that it has reached.
 * plain      a step is plain if the caller's frame contains all words that it loaded (see struct hwi_walked_frame).
 */
#ifndef HWI_RECORD_UNWIND_STEP_H
#define HWI_RECORD_UNWIND_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "platform/arch.h"
#include "record/lane.h"
#include "record/record.h"
#include "record/unwind/cfi.h"
#include "record/unwind/range.h"

enum { HWI_STEP_MOST_WORDS = 4, HWI_LOWEST_CODE = 4096 };

struct hwi_position {
  uintptr_t pc, sp, bp;
  bool is_interrupted; /* a signal interrupted the instruction at pc: it is not a return address */
};

enum hwi_walk_end {
  HWI_WALK_GOES_ON,
  HWI_WALK_MET,       /* reached a cached frame, and all cached steps outward of it are unchanged */
  HWI_WALK_OUTERMOST, /* the stack ends here */
  HWI_WALK_LOST,      /* cannot continue: no CFI, or an impossible place */
  HWI_WALK_TOO_DEEP,
};

#define HWI_NO_GUESS UINT32_MAX

struct hwi_walk {
  enum hwi_walk_end end;
  struct hwi_lane *lane;
  struct hwi_range *range; /* of the stack that the walk is on */
  struct hwi_range other;  /* of a second stack, if the walk has crossed to one */
  bool is_cacheable;
  bool is_sp_guessed;    /* the sp of the position is only a lower bound: see step_by_frame_pointer */
  bool is_audited;       /* the splice is compared with full walks */
  bool is_checked;       /* all steps of the cached frames below `met` are known to be unchanged */
  uint32_t met;          /* cached frames that may be part of the stack; after MET, those that are */
  uint32_t verify_count; /* cached steps that were verified */
  uint32_t fresh_count;  /* frames walked: lane->fresh, innermost first */
  uint32_t extra_count;  /* extra words of the last step */
  uintptr_t link;        /* the link register of a frame that a signal interrupted; not used on CPUs without one */
  uint32_t guessed_at;   /* first fresh frame without CFI, whose caller is from a frame pointer; HWI_NO_GUESS: none */
  struct hwi_word extra[HWI_STEP_MOST_WORDS];
};

/* Where a frame ends with its saved registers, they give the exact sp of its caller. */
static inline bool hwi_walk_has_guessed_sp(const struct hwi_walk *walk)
{
  return !HWI_ARCH_RECORDS_END_FRAMES && walk->is_sp_guessed;
}

/* Replaces *at, the position of `frame`, by its caller's; sets the frame's fields about bp, and the walk's extra words.
 * Returns HWI_WALK_GOES_ON if there is a caller. */
enum hwi_walk_end hwi_step_outward(struct hwi_walk *walk, struct hwi_cached_row row, struct hwi_walked_frame *frame,
                                   struct hwi_position *at);

/* Takes the step if it is one of the two kinds that nearly all code needs; otherwise does nothing and returns false.
 * `high` is the end of the range, whose start is below at->sp. */
static inline bool hwi_step_plainly(uintptr_t high, struct hwi_cached_row row, struct hwi_walked_frame *frame,
                                    struct hwi_position *at);

/* Replaces the registers of a frame by its caller's with the CFI interpreter. *is_interrupted: the pc is not a return
 * address; it is set for the caller's pc. Returns HWI_STEP_NO_CFI if no module or no CFI covers the pc. */
enum hwi_step hwi_step_by_cfi(struct hwi_range *range, struct hwi_registers *registers, bool *is_interrupted);

/* The stack outward of here. */
struct hwi_outward {
  uintptr_t code; /* given: where to look for, */
  size_t code_bytes;
  bool has_code;       /* whether a frame is there */
  uintptr_t outermost; /* the sp of the outermost frame, or of one without CFI */
};

/* Returns whether the calling thread's stack can be unwound from here to its outermost frame, or to one without CFI, without a
 * signal frame on the way. Slow: it takes every step with the CFI interpreter, and needs no lane. */
bool hwi_step_is_uninterrupted(struct hwi_outward *outward);

/* Walks from the caller outward (walk.c), without any effect on the cached stack. Before, walk->met must be how many
 * cached frames may be met (0: none), and walk->is_checked whether these are known to be unchanged. Returns
 * walk->end. */
enum hwi_walk_end hwi_walk_outward(struct hwi_lane *lane, const struct hwi_caller *caller, struct hwi_walk *walk);

/* --- the plain step, in full: it is the hot path --- */

static inline bool hwi_step_is_code(uintptr_t pc)
{
  return pc - HWI_LOWEST_CODE < (UINT64_C(1) << HWI_ARCH_ADDRESS_BITS) - HWI_LOWEST_CODE;
}

static inline bool hwi_step_plainly(uintptr_t high, struct hwi_cached_row row, struct hwi_walked_frame *frame,
                                    struct hwi_position *at)
{
  bool by_sp = row.kind == HWI_ROW_SP;
  if (__builtin_expect(!by_sp && row.kind != HWI_ROW_BP, 0))
    return false;
  uintptr_t cfa = (by_sp ? at->sp : at->bp) + (uintptr_t)(intptr_t)row.offset;
  uintptr_t end = hwi_arch_return_end(cfa, row.return_slot);
  uintptr_t lowest = end + (uintptr_t)(row.bp_slot * (intptr_t)sizeof(uintptr_t));
  const volatile uintptr_t *words = (const volatile uintptr_t *)end;
  /* CFAs only rise: the highest word must be below `high`, the lowest one between sp and `high`. Below a small CFA, it would be at the
   * end of the address space. */
  if (__builtin_expect(cfa % sizeof *words || cfa - 1 >= high || lowest < at->sp || lowest >= high, 0))
    return false;
  uintptr_t pc = hwi_arch_code_address(words[HWI_NO_BP_SLOT]), saved = words[row.bp_slot];
  if (__builtin_expect(!hwi_step_is_code(pc), 0))
    return false;
  frame->bp_slot = row.bp_slot;
  frame->return_slot = row.return_slot;
  frame->bp_is_free = by_sp & (row.bp_slot != HWI_NO_BP_SLOT);
  frame->bp_passes = by_sp & (row.bp_slot == HWI_NO_BP_SLOT);
  *at = (struct hwi_position){pc, cfa, row.bp_slot == HWI_NO_BP_SLOT ? at->bp : saved, false};
  return true;
}

#endif
