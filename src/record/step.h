/* step.h - one step of a walk, from a frame to its caller
 *
 * place      where a walk is: pc, sp and bp of a frame.
 * walked     a frame that a walk has left, with the words that the step out of it loaded.
 */
#ifndef HWI_RECORD_STEP_H
#define HWI_RECORD_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "record/cfi.h"
#include "record/lane.h"
#include "record/range.h"
#include "record/record.h"

enum { HWI_WALK_MOST_WORDS = 3 };

struct hwi_place {
  uintptr_t pc, sp, bp;
  bool exact; /* pc was interrupted by a signal: it is no return address */
};

struct hwi_walked {
  uintptr_t pc, sp, bp;
  uint32_t module;
  uint16_t word_count;
  bool bp_is_free; /* as in struct hwi_frame */
  struct hwi_word words[HWI_WALK_MOST_WORDS];
};

enum hwi_walk_end {
  HWI_WALK_GOES_ON,
  HWI_WALK_MET,       /* a kept frame, and all that was kept outward of it is unchanged */
  HWI_WALK_OUTERMOST, /* the stack ends here */
  HWI_WALK_LOST,      /* no way on: no CFI, or a place that cannot be */
  HWI_WALK_TOO_DEEP,
};

struct hwi_walk {
  enum hwi_walk_end end;
  struct hwi_range *range; /* of the stack that the walk is on */
  struct hwi_range other;  /* of a second stack, when it crossed to one */
  bool keepable;
  bool is_checked;      /* the kept frames below `met` are known to have all their words unchanged */
  uint32_t met;         /* kept frames that are part of the stack, where it ended MET */
  uint32_t word_count;  /* words compared with kept ones */
  uint32_t fresh_count; /* frames walked: lane->fresh, innermost first */
};

/* Replaces *at, the place that `walked` was filled from, by its caller's, and adds to `walked` the words loaded. */
enum hwi_walk_end hwi_step_outward(struct hwi_walk *walk, struct hwi_row row, struct hwi_walked *walked,
                                   struct hwi_place *at);

/* Replaces the registers of a frame by its caller's with the CFI interpreter. *exact: the pc is no return address; it is set
 * for the caller's. HWI_STEP_NO_CFI where no module or no CFI covers the pc. */
enum hwi_step hwi_step_by_cfi(struct hwi_range *range, struct hwi_registers *registers, bool *exact);

/* Is the calling thread's stack known from here to its outermost frame, without a signal frame on it? *outermost gets the
 * outermost frame's sp. Slow: it takes every step with the CFI interpreter, and needs no lane. */
bool hwi_step_is_uninterrupted(uintptr_t *outermost);

/* The walk itself (walk.c), without any effect on the kept stack. */
enum hwi_walk_end hwi_walk_outward(struct hwi_lane *lane, const struct hwi_caller *caller, bool may_splice,
                                   struct hwi_walk *walk);

#endif
