/* stack.c - walks the stack of a caller of malloc by call frame information */
#include "annotate/stack.h"

#include "annotate/module.h"
#include "platform/arch.h"
#include "platform/os.h"
#include "record/unwind/cfi.h"

enum {
  WORD = sizeof(uintptr_t),
  ROWS = 1024, /* of a thread */
  LOWEST_CODE = 4096,
  LARGEST_GUESSED_FRAME = 1 << 20,
  WORDS_OF_A_STEP = 4,
  OWN_STEPS = 16, /* at most, through this library's own frames */
  NO_WORD = UINT16_MAX,
};

struct hwi_stack_row {
  uintptr_t key; /* 0: none */
  struct hwi_frame_row row;
};

__thread struct hwi_stack_thread *hwi_stack_self __attribute__((tls_model("initial-exec")));
uint32_t hwi_stack_epoch = 1, hwi_stack_memo_log2;
static unsigned frames_max;
static uint32_t words_max; /* of a memo */

struct walk {
  struct hwi_stack_thread *self; /* NULL: nothing is kept */
  struct hwi_range *range;
  uintptr_t pc, sp, bp;
  uintptr_t link;      /* the link register of a frame that a signal interrupted */
  bool is_interrupted; /* pc is no return address */
  bool is_sp_guessed;  /* sp is only a lower bound */
  bool is_kept;        /* the walk may become a memo */
  bool needs_first_bp;
  uint16_t bp_word; /* that bp was loaded from; NO_WORD: it is the first frame's */
  uint32_t word_count;
  uint32_t frame_count;
  uintptr_t frames[HWI_ANNOTATE_FRAMES_MAX];
  struct hwi_stack_word words[HWI_ANNOTATE_FRAMES_MAX * WORDS_OF_A_STEP];
  bool is_needed[HWI_ANNOTATE_FRAMES_MAX * WORDS_OF_A_STEP];
};

void hwi_stack_init(unsigned frames)
{
  frames_max = frames;
  const size_t bytes = sizeof(struct hwi_stack_memo) + (frames + frames / 2) * sizeof(struct hwi_stack_word);
  for (hwi_stack_memo_log2 = 9; (size_t)1 << hwi_stack_memo_log2 < bytes; hwi_stack_memo_log2++)
    continue;
  words_max =
      (uint32_t)((((size_t)1 << hwi_stack_memo_log2) - sizeof(struct hwi_stack_memo)) / sizeof(struct hwi_stack_word));
  words_max -= words_max % HWI_STACK_WORDS_AT_ONCE;
}

static size_t thread_bytes(void)
{
  const size_t bytes = sizeof(struct hwi_stack_thread) + ((size_t)HWI_MEMOS << hwi_stack_memo_log2) +
                       ROWS * sizeof(struct hwi_stack_row);
  return (bytes + HWI_OS_PAGE_BYTES - 1) & ~(size_t)(HWI_OS_PAGE_BYTES - 1);
}

void hwi_stack_thread_begin(void)
{
  struct hwi_stack_thread *self = hwi_os_map(thread_bytes());
  if (!self)
    return;
  self->rows = (struct hwi_stack_row *)(self->memos + ((size_t)HWI_MEMOS << hwi_stack_memo_log2));
  self->epoch = __atomic_load_n(&hwi_stack_epoch, __ATOMIC_RELAXED);
  hwi_stack_self = self;
}

void hwi_stack_thread_end(void)
{
  struct hwi_stack_thread *self = hwi_stack_self;
  hwi_stack_self = NULL;
  if (self)
    hwi_os_unmap(self, thread_bytes());
}

void hwi_stack_forget_code(void)
{
  __atomic_fetch_add(&hwi_stack_epoch, 1, __ATOMIC_RELAXED);
}

static void forget(struct hwi_stack_thread *self)
{
  for (uintptr_t i = 0; i < HWI_MEMOS; i++)
    ((struct hwi_stack_memo *)(self->memos + (i << hwi_stack_memo_log2)))->pc = 0;
}

static void forget_old_code(struct hwi_stack_thread *self)
{
  const uint32_t epoch = __atomic_load_n(&hwi_stack_epoch, __ATOMIC_RELAXED);
  if (self->epoch == epoch)
    return;
  forget(self);
  for (unsigned i = 0; i < ROWS; i++)
    self->rows[i].key = 0;
  self->epoch = epoch;
}

/* --- rows --- */

static struct hwi_frame_row find_row(uintptr_t pc)
{
  struct hwi_os_module module;
  if (!hwi_module_find(pc, &module) || !module.eh_frame_hdr)
    return (struct hwi_frame_row){.kind = HWI_ROW_NONE};
  struct hwi_cfi_module cfi = {module.start, module.end, module.eh_frame_hdr};
  return hwi_cfi_row(&cfi, pc, NULL);
}

/* Code without rows may get some when a module is loaded there. */
static struct hwi_frame_row row_of(struct walk *walk)
{
  const uintptr_t pc = walk->pc - !walk->is_interrupted;
  if (!walk->self)
    return find_row(pc);
  struct hwi_stack_row *slot = &walk->self->rows[(pc ^ pc >> 10) & (ROWS - 1)];
  if (slot->key != pc) {
    slot->row = find_row(pc);
    slot->key = slot->row.kind == HWI_ROW_NONE ? 0 : pc;
  }
  return slot->row;
}

/* --- steps --- */

static bool is_code(uintptr_t pc)
{
  return pc >= LOWEST_CODE && (uint64_t)pc >> HWI_ARCH_ADDRESS_BITS == 0;
}

static bool load(struct walk *walk, uintptr_t address, uintptr_t *value, bool is_needed)
{
  if (address % WORD || !hwi_range_load(walk->range, address, value))
    return false;
  walk->is_needed[walk->word_count] = is_needed;
  walk->words[walk->word_count++] = (struct hwi_stack_word){address, *value};
  return true;
}

static uintptr_t use_bp(struct walk *walk)
{
  if (walk->bp_word == NO_WORD)
    walk->needs_first_bp = true;
  else
    walk->is_needed[walk->bp_word] = true;
  return walk->bp;
}

static bool load_bp(struct walk *walk, uintptr_t address)
{
  if (!load(walk, address, &walk->bp, false))
    return false;
  walk->bp_word = (uint16_t)(walk->word_count - 1);
  return true;
}

/* Each returns whether there is a caller. */
static bool step_to(struct walk *walk, struct hwi_frame_row row, uintptr_t cfa)
{
  uintptr_t pc;
  const uintptr_t return_end = hwi_arch_return_end(cfa, row.return_slot);
  if (cfa <= walk->sp || return_end <= walk->sp || !load(walk, return_end - WORD, &pc, true) ||
      !is_code(pc = hwi_arch_code_address(pc)))
    return false;
  const uintptr_t base = row.kind == HWI_ROW_BP_DEREF ? walk->bp : return_end;
  if ((row.bp_words || row.kind == HWI_ROW_BP_DEREF) && !load_bp(walk, base + (uintptr_t)(row.bp_words * WORD)))
    return false;
  walk->pc = pc;
  walk->sp = cfa;
  walk->is_interrupted = false;
  return true;
}

/* A guess, for code without call frame information. The memory that it reads may not belong to the stack: nothing of it is
 * kept. */
static bool step_by_frame_pointer(struct walk *walk)
{
  uintptr_t pc;
  walk->is_kept = false;
  if (!HWI_ARCH_HAS_RECORDS)
    return false;
  const uintptr_t record = use_bp(walk) + (uintptr_t)(intptr_t)HWI_ARCH_RECORD_OFF;
  if (record < walk->sp || record - walk->sp > LARGEST_GUESSED_FRAME || !load(walk, record + WORD, &pc, true) ||
      !is_code(pc = hwi_arch_code_address(pc)) || !load_bp(walk, record))
    return false;
  walk->pc = pc;
  walk->sp = record + 2 * WORD;
  walk->is_sp_guessed = !HWI_ARCH_RECORDS_END_FRAMES;
  walk->is_interrupted = false;
  return true;
}

/* The interrupted code may have run on another stack, which ends the walk. */
static bool step_signal(struct walk *walk, uintptr_t registers)
{
  uintptr_t pc, sp, bp;
  walk->is_kept = false;
  if (!load(walk, registers + HWI_ARCH_SIGNAL_PC, &pc, true) ||
      !load(walk, registers + HWI_ARCH_SIGNAL_SP, &sp, true) ||
      !load(walk, registers + HWI_ARCH_SIGNAL_BP, &bp, true) ||
      !load(walk, registers + HWI_ARCH_SIGNAL_LINK, &walk->link, true) || !is_code(pc))
    return false;
  walk->pc = pc;
  walk->sp = sp;
  walk->bp = bp;
  walk->is_interrupted = true;
  return sp >= walk->range->low;
}

/* From the function that a signal interrupted, which has not stored its return address. */
static bool step_by_link(struct walk *walk, struct hwi_frame_row row, uintptr_t cfa)
{
  const uintptr_t pc = hwi_arch_code_address(walk->link);
  const uintptr_t saved = hwi_arch_return_end(cfa, row.return_slot) + (uintptr_t)(row.bp_words * WORD);
  if (!walk->is_interrupted || cfa < walk->sp || !is_code(pc) || (row.bp_words && !load_bp(walk, saved)))
    return false;
  walk->pc = pc;
  walk->sp = cfa;
  walk->is_interrupted = false;
  return true;
}

static bool load_for_cfi(void *context, uintptr_t address, uintptr_t *word)
{
  return hwi_range_load(context, address, word);
}

static bool step_registers(struct hwi_range *range, struct hwi_registers *registers, bool *is_interrupted)
{
  struct hwi_os_module module;
  const uintptr_t pc = registers->value[HWI_REG_RA] - !*is_interrupted;
  if (!hwi_module_find(pc, &module) || !module.eh_frame_hdr)
    return false;
  struct hwi_cfi_module cfi = {module.start, module.end, module.eh_frame_hdr};
  return hwi_cfi_step(&cfi, pc, registers, &(struct hwi_cfi_memory){load_for_cfi, range}, is_interrupted) ==
             HWI_STEP_OK &&
         is_code(registers->value[HWI_REG_RA]);
}

/* For a frame whose CFA depends on a register that rows do not track: walks again from this function's own frame, where all
 * registers are known. */
static __attribute__((noinline)) bool step_in_full(struct walk *walk)
{
  struct hwi_registers registers = {.known = 0};
  bool is_interrupted = true, is_reached = false;
  walk->is_kept = false;
  hwi_arch_capture(registers.value, &registers.known);
  struct hwi_range range = {0};
  hwi_range_enter(&range, registers.value[HWI_REG_SP]);
  for (unsigned steps = 0; steps < OWN_STEPS + frames_max && !is_reached; steps++) {
    is_reached = registers.value[HWI_REG_SP] == walk->sp && registers.value[HWI_REG_RA] == walk->pc;
    if (!step_registers(&range, &registers, &is_interrupted))
      return false;
  }
  walk->pc = registers.value[HWI_REG_RA];
  walk->sp = registers.value[HWI_REG_SP];
  walk->bp = registers.value[HWI_REG_BP];
  walk->is_interrupted = is_interrupted;
  return is_reached;
}

static bool step(struct walk *walk)
{
  const struct hwi_frame_row row = row_of(walk);
  const uintptr_t offset = (uintptr_t)(intptr_t)row.offset;
  uintptr_t cfa;
  if (walk->is_sp_guessed && row.kind != HWI_ROW_BP && row.kind != HWI_ROW_NONE)
    return false;
  walk->is_sp_guessed = false;
  switch (row.kind) {
  case HWI_ROW_SP:
    return step_to(walk, row, walk->sp + offset);
  case HWI_ROW_BP:
    return step_to(walk, row, use_bp(walk) + offset);
  case HWI_ROW_SP_DEREF:
    return load(walk, walk->sp + offset, &cfa, true) && step_to(walk, row, cfa);
  case HWI_ROW_BP_DEREF:
    return load(walk, use_bp(walk) + offset, &cfa, true) && step_to(walk, row, cfa);
  case HWI_ROW_SIGNAL:
    return step_signal(walk, walk->sp + offset);
  case HWI_ROW_LINK:
    return step_by_link(walk, row, walk->sp + offset);
  case HWI_ROW_LINK_BP:
    return step_by_link(walk, row, use_bp(walk) + offset);
  case HWI_ROW_FULL:
    return step_in_full(walk);
  case HWI_ROW_NONE:
    return step_by_frame_pointer(walk);
  default:
    return false;
  }
}

/* --- walks --- */

static void keep(const struct walk *walk, const struct hwi_stack_memo *first, uint32_t stack)
{
  struct hwi_stack_memo *memo = hwi_stack_memo(walk->self, first->pc, first->sp);
  memo->pc = 0;
  memo->word_count = 0;
  for (uint32_t i = 0; i < walk->word_count; i++) {
    if (!walk->is_needed[i])
      continue;
    if (memo->word_count == words_max)
      return;
    memo->words[memo->word_count++] = walk->words[i];
  }
  for (; memo->word_count % HWI_STACK_WORDS_AT_ONCE; memo->word_count++)
    memo->words[memo->word_count] = memo->words[memo->word_count - 1];
  memo->sp = first->sp;
  memo->bp = first->bp;
  memo->needs_bp = walk->needs_first_bp;
  memo->stack = stack;
  memo->pc = first->pc;
}

static void walk_outward(struct walk *walk)
{
  do
    walk->frames[walk->frame_count++] = walk->pc;
  while (walk->frame_count < frames_max && step(walk));
}

/* `range` is for a thread without memory. */
static void begin(struct walk *walk, struct hwi_range *range, uintptr_t pc, uintptr_t sp, uintptr_t bp)
{
  walk->self = hwi_stack_self;
  walk->range = walk->self ? &walk->self->range : range;
  walk->pc = pc;
  walk->sp = sp;
  walk->bp = bp;
  walk->bp_word = NO_WORD;
  walk->is_kept = true;
  walk->is_interrupted = walk->is_sp_guessed = walk->needs_first_bp = false;
  walk->word_count = walk->frame_count = 0;
}

__attribute__((noinline)) bool hwi_stack_step(uintptr_t *pc, uintptr_t *sp, uintptr_t *bp)
{
  struct walk walk;
  struct hwi_range range = {0};
  begin(&walk, &range, *pc, *sp, *bp);
  if (!hwi_range_enter(walk.range, *sp) && walk.self)
    forget(walk.self);
  const bool is_taken = step(&walk);
  *pc = walk.pc;
  *sp = walk.sp;
  *bp = walk.bp;
  return is_taken;
}

__attribute__((noinline)) uint32_t hwi_stack_walk(uintptr_t pc, uintptr_t sp, uintptr_t bp)
{
  struct walk walk;
  struct hwi_range range = {0};
  const struct hwi_stack_memo first = {.pc = pc, .sp = sp, .bp = bp};
  begin(&walk, &range, pc, sp, bp);
  if (walk.self)
    forget_old_code(walk.self);
  if (!hwi_range_enter(walk.range, sp) && walk.self)
    forget(walk.self);
  walk_outward(&walk);
  const uint32_t stack = hwi_stack_number(walk.frames, walk.frame_count);
  if (walk.self && walk.is_kept && stack)
    keep(&walk, &first, stack);
  if (walk.self && !walk.is_kept)
    walk.self->range = (struct hwi_range){0};
  return stack;
}
