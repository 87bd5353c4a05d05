/* audit.c - compares a spliced stack with full walks */
#include "record/unwind/audit.h"

#include "record/session.h"

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

/* Makes the full walk, without splicing. Its fresh frames replace the lane's; their inner part is the same if the
 * splice is right. */
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
  struct hwi_registers registers = {.known = 1u << HWI_REG_RA | 1u << HWI_REG_SP | 1u << HWI_REG_BP};
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
    bool exact = false;                                             /* a spliced stack never crosses a signal frame */
    if (hwi_step_by_cfi(&range, &registers, &exact) != HWI_STEP_OK) /* if the walk continued, it was without CFI */
      return true;
  }
  return true;
}

bool hwi_audit_is_same(struct hwi_lane *lane, const struct hwi_caller *caller, struct hwi_walk *walk)
{
  if (!walk->met)
    return true;
  hwi_session_count(&hwi_session.audited, &hwi_session.header->audited_stacks);
  bool same = is_same_by_rows(lane, caller, walk) && (!hwi_session.options.check || is_same_by_cfi(lane, caller, walk));
  if (!same)
    hwi_session_count(&hwi_session.differences, &hwi_session.header->audit_differences);
  return same;
}
