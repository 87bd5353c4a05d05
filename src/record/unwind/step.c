/* step.c - one step of a walk, from a frame to its caller */
#include "record/unwind/step.h"

#include "platform/arch.h"
#include "platform/os.h"
#include "record/unwind/row_cache.h"

enum {
  WORD = sizeof(uintptr_t),
  LARGEST_GUESSED_FRAME = 1 << 20,
  MOST_OWN_STEPS = 16, /* steps through the recorder's own frames, to the target's */
};

/* Loads a word and adds it to the extra words. */
static inline bool load(struct hwi_walk *walk, uintptr_t address, uintptr_t *word)
{
  if (!hwi_range_load(walk->range, address, word))
    return false;
  walk->extra[walk->extra_count++] = (struct hwi_word){address, *word, walk->fresh_count - 1};
  return true;
}

/* The interrupted code may have run on another stack. */
static void cross_to(struct hwi_walk *walk, uintptr_t sp)
{
  walk->is_cacheable = false;
  if (sp >= walk->range->low && sp < walk->range->high)
    return;
  uintptr_t page = sp & ~(uintptr_t)(HWI_OS_PAGE_BYTES - 1), above = page + HWI_OS_PAGE_BYTES;
  walk->other = (struct hwi_range){.low = above, .high = above}; /* empty: the stack may have overflowed */
  walk->range = &walk->other;
  if (hwi_os_readable_pages(page, 1))
    hwi_range_enter(walk->range, sp);
}

static enum hwi_walk_end step_signal(struct hwi_walk *walk, uintptr_t registers, struct hwi_position *at)
{
  uintptr_t pc, sp, bp;
  if (!load(walk, registers + HWI_ARCH_SIGNAL_PC, &pc) || !load(walk, registers + HWI_ARCH_SIGNAL_SP, &sp) ||
      !load(walk, registers + HWI_ARCH_SIGNAL_BP, &bp) ||
      (HWI_ARCH_HAS_LINK && !load(walk, registers + HWI_ARCH_SIGNAL_LINK, &walk->link)) || !hwi_step_is_code(pc))
    return HWI_WALK_LOST;
  cross_to(walk, sp);
  *at = (struct hwi_position){pc, sp, bp, true};
  return HWI_WALK_GOES_ON;
}

/* Returns whether a frame pointer may lead from a frame with that sp to the saved registers at `record`. */
static bool is_link(uintptr_t sp, uintptr_t record)
{
  return record >= sp && record - sp <= LARGEST_GUESSED_FRAME && record % WORD == 0;
}

static uintptr_t record_of(uintptr_t bp)
{
  return bp + (uintptr_t)(intptr_t)HWI_ARCH_RECORD_OFF;
}

/* Returns whether the caller that a frame pointer led to may be one. Any pointer to the stack leads to two words, which may be data. A
 * caller in a module's code may have CFI and need no frame pointer, so that its bp may be anything. Any other caller is generated code:
 * it has a frame pointer, too, or has at least made a call. An interpreter may jump to a function without one. */
static bool is_caller(const struct hwi_walk *walk, const struct hwi_position *at)
{
  if (is_link(at->sp, record_of(at->bp)))
    return true;
  const struct hwi_cached_row row = hwi_row_cache_find(walk->lane, at->pc, false);
  return row.kind != HWI_ROW_NONE || row.module || row.offset == HWI_ROW_AFTER_CALL;
}

/* Code without CFI (mostly JIT) may have a chain of frame pointers. A link of it is followed only if it is
 * plausible. On some CPUs the frame may go on beyond the saved registers, so that the caller's sp is not known exactly. */
static enum hwi_walk_end step_by_frame_pointer(struct hwi_walk *walk, struct hwi_walked_frame *frame,
                                               struct hwi_position *at)
{
  const uintptr_t record = record_of(at->bp);
  struct hwi_position caller = {.sp = record + 2 * WORD};
  if (!HWI_ARCH_HAS_RECORDS)
    return HWI_WALK_LOST;
  if (hwi_callers_have(&hwi_session.loader, at->pc)) /* the loader's entry, which runs constructors, has no caller */
    return HWI_WALK_OUTERMOST;
  if (walk->guessed_at == HWI_NO_GUESS)
    walk->guessed_at = walk->fresh_count - 1;
  if (!is_link(at->sp, record) || !load(walk, record + WORD, &caller.pc) || !load(walk, record, &caller.bp))
    return HWI_WALK_LOST;
  caller.pc = hwi_arch_code_address(caller.pc);
  if (!hwi_step_is_code(caller.pc) || !is_caller(walk, &caller))
    return HWI_WALK_LOST;
  frame->bp_slot = HWI_NO_BP_SLOT - 1; /* plain */
  frame->return_slot = hwi_arch_return_slot_at(0);
  walk->is_sp_guessed = true;
  walk->extra_count = 0;
  *at = caller;
  return HWI_WALK_GOES_ON;
}

static bool load_for_cfi(void *context, uintptr_t address, uintptr_t *word)
{
  return hwi_range_load(context, address, word);
}

enum hwi_step hwi_step_by_cfi(struct hwi_range *range, struct hwi_registers *registers, bool *is_interrupted)
{
  struct hwi_os_module module;
  uintptr_t pc = registers->value[HWI_REG_RA] - !*is_interrupted;
  if (!hwi_os_find_module(pc, &module) || !module.eh_frame_hdr)
    return HWI_STEP_NO_CFI;
  struct hwi_cfi_module cfi = {module.start, module.end, module.eh_frame_hdr};
  return hwi_cfi_step(&cfi, pc, registers, &(struct hwi_cfi_memory){load_for_cfi, range}, is_interrupted);
}

/* For a frame whose CFA depends on a register that rows do not track. It begins at our own frame, where all registers
 * are known. */
static __attribute__((noinline)) enum hwi_walk_end step_in_full(struct hwi_walk *walk,
                                                                const struct hwi_walked_frame *frame,
                                                                struct hwi_position *at)
{
  struct hwi_registers registers = {.known = 0};
  hwi_arch_capture(registers.value, &registers.known);
  bool is_interrupted = true; /* so that the captured pc is used unchanged */
  walk->is_cacheable = false;
  struct hwi_range range = *walk->range;
  if (!hwi_range_enter(&range, registers.value[HWI_REG_SP]) || walk->range == &walk->other)
    return HWI_WALK_LOST; /* the registers are not tracked beyond a change of stacks */
  for (uint32_t steps = 0; steps < MOST_OWN_STEPS + hwi_session.options.depth; steps++) {
    bool reached = registers.value[HWI_REG_SP] == frame->sp && registers.value[HWI_REG_RA] == frame->pc;
    enum hwi_step result = hwi_step_by_cfi(&range, &registers, &is_interrupted);
    if (result == HWI_STEP_OUTERMOST && reached)
      return HWI_WALK_OUTERMOST;
    if (result != HWI_STEP_OK || !hwi_step_is_code(registers.value[HWI_REG_RA]))
      return HWI_WALK_LOST;
    if (!reached)
      continue;
    *at = (struct hwi_position){registers.value[HWI_REG_RA], registers.value[HWI_REG_SP], registers.value[HWI_REG_BP],
                                is_interrupted};
    return HWI_WALK_GOES_ON;
  }
  return HWI_WALK_LOST;
}

__attribute__((noinline)) bool hwi_step_is_uninterrupted(struct hwi_outward *outward)
{
  outward->has_code = false;
  struct hwi_registers registers = {.known = 0};
  struct hwi_range range = {0};
  bool is_signal_frame = true; /* so that the captured pc is used unchanged */
  hwi_arch_capture(registers.value, &registers.known);
  hwi_range_enter(&range, registers.value[HWI_REG_SP]);
  for (uint32_t steps = 0; steps < MOST_OWN_STEPS + hwi_session.options.depth; steps++) {
    outward->outermost = registers.value[HWI_REG_SP];
    outward->has_code |= registers.value[HWI_REG_RA] - outward->code < outward->code_bytes;
    enum hwi_step result = hwi_step_by_cfi(&range, &registers, &is_signal_frame);
    if (result == HWI_STEP_OUTERMOST || result == HWI_STEP_NO_CFI) /* as in musl, at the end of each stack */
      return true;
    if (result != HWI_STEP_OK || is_signal_frame)
      return false;
  }
  return false;
}

/* Takes a step whose CFA is known. */
static enum hwi_walk_end step_to(struct hwi_walk *walk, struct hwi_cached_row row, struct hwi_walked_frame *frame,
                                 uintptr_t cfa, struct hwi_position *at)
{
  uintptr_t pc, bp = at->bp;
  /* On one stack CFAs only rise; any other CFA is invalid. A signal frame may interrupt at any alignment. */
  uintptr_t return_end = hwi_arch_return_end(cfa, row.return_slot);
  if (cfa <= at->sp || cfa % WORD || return_end <= at->sp || !load(walk, return_end - WORD, &pc))
    return HWI_WALK_LOST;
  pc = hwi_arch_code_address(pc);
  bool is_realigned = row.kind == HWI_ROW_BP_DEREF;
  uintptr_t bp_base = is_realigned ? at->bp : return_end;
  if ((is_realigned || row.bp_slot != HWI_NO_BP_SLOT) &&
      !load(walk, bp_base + (uintptr_t)(intptr_t)(row.bp_slot * WORD), &bp))
    return HWI_WALK_LOST;
  if (!hwi_step_is_code(pc))
    return pc ? HWI_WALK_LOST : HWI_WALK_OUTERMOST;
  bool by_sp = row.kind == HWI_ROW_SP || row.kind == HWI_ROW_SP_DEREF;
  frame->bp_is_free = by_sp && row.bp_slot != HWI_NO_BP_SLOT;
  frame->bp_passes = by_sp && row.bp_slot == HWI_NO_BP_SLOT;
  frame->return_slot = row.return_slot;
  if (row.kind == HWI_ROW_SP || row.kind == HWI_ROW_BP) {
    frame->bp_slot = row.bp_slot;
    walk->extra_count = 0; /* plain */
  }
  *at = (struct hwi_position){pc, cfa, bp, false};
  return HWI_WALK_GOES_ON;
}

/* Takes the step from a function that has not stored its return address. If it is not the one that a signal interrupted, then
 * the CFI is wrong: it has made a call. */
static enum hwi_walk_end step_by_link(struct hwi_walk *walk, struct hwi_cached_row row, uintptr_t cfa,
                                      struct hwi_position *at)
{
  uintptr_t pc = hwi_arch_code_address(walk->link), bp = at->bp;
  uintptr_t slot = hwi_arch_return_end(cfa, row.return_slot) + (uintptr_t)(intptr_t)(row.bp_slot * WORD);
  if (!at->is_interrupted || cfa < at->sp || cfa % WORD || !hwi_step_is_code(pc) ||
      (row.bp_slot != HWI_NO_BP_SLOT && !load(walk, slot, &bp)))
    return HWI_WALK_LOST;
  *at = (struct hwi_position){pc, cfa, bp, false};
  return HWI_WALK_GOES_ON;
}

/* Finds the sp of a frame by its bp. Returns false if the row does not state how they depend on each other. A function that stores its
 * caller's bp next to its return address is taken to keep its own bp at that place, as the calling convention has it. */
static bool find_guessed_sp(struct hwi_cached_row row, struct hwi_position *at)
{
  if (row.kind == HWI_ROW_BP || row.kind == HWI_ROW_NONE || row.kind == HWI_ROW_OUTERMOST)
    return true; /* not needed */
  uintptr_t return_end = at->bp + 2 * WORD, cfa = return_end - (hwi_arch_return_end(0, row.return_slot));
  uintptr_t sp = cfa - (uintptr_t)(intptr_t)row.offset;
  if (row.kind != HWI_ROW_SP || row.bp_slot != HWI_NO_BP_SLOT - 1 || sp < at->sp || sp > at->bp)
    return false;
  at->sp = sp;
  return true;
}

/* Takes a step outward from the caller of a frame that was left by its frame pointer. */
static enum hwi_walk_end step_from_guessed_sp(struct hwi_walk *walk, struct hwi_cached_row row,
                                              struct hwi_walked_frame *frame, struct hwi_position *at)
{
  walk->is_sp_guessed = false;
  if (!find_guessed_sp(row, at))
    return HWI_WALK_LOST;
  enum hwi_walk_end end = hwi_step_outward(walk, row, frame, at);
  frame->bp_is_free = frame->bp_passes = false; /* the step depends on it */
  return end;
}

enum hwi_walk_end hwi_step_outward(struct hwi_walk *walk, struct hwi_cached_row row, struct hwi_walked_frame *frame,
                                   struct hwi_position *at)
{
  if (hwi_walk_has_guessed_sp(walk))
    return step_from_guessed_sp(walk, row, frame, at);
  const bool by_bp = row.kind == HWI_ROW_BP || row.kind == HWI_ROW_BP_DEREF || row.kind == HWI_ROW_LINK_BP;
  uintptr_t cfa, base = (by_bp ? at->bp : at->sp) + (uintptr_t)(intptr_t)row.offset;
  walk->extra_count = 0;
  frame->bp_slot = HWI_NO_BP_SLOT;
  frame->bp_is_free = frame->bp_passes = false;
  frame->return_slot = hwi_arch_return_slot_at(0);
  switch (row.kind) {
  case HWI_ROW_SP:
  case HWI_ROW_BP:
    return step_to(walk, row, frame, base, at);
  case HWI_ROW_SP_DEREF:
  case HWI_ROW_BP_DEREF:
    return load(walk, base, &cfa) ? step_to(walk, row, frame, cfa, at) : HWI_WALK_LOST;
  case HWI_ROW_SIGNAL:
    return step_signal(walk, base, at);
  case HWI_ROW_LINK:
  case HWI_ROW_LINK_BP:
    return step_by_link(walk, row, base, at);
  case HWI_ROW_OUTERMOST:
    frame->bp_is_free = true;
    return HWI_WALK_OUTERMOST;
  case HWI_ROW_FULL:
    return step_in_full(walk, frame, at);
  default:
    return step_by_frame_pointer(walk, frame, at);
  }
}
