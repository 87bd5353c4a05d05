/* cfi_rules.c - runs call frame instructions up to an address
 *
 * The CIE's instructions give the rules at a function's entry, and the FDE's instructions change them along the
 * function. The rules at pc are the result of all instructions up to there. Compilers nest remember_state and
 * restore_state (an epilogue in the middle of a function) only once.
 */
#include <assert.h>
#include <stdatomic.h>

#include "record/unwind/cfi_internal.h"

enum { MOST_REMEMBERED = 8, MOST_INSTRUCTIONS = 1 << 18 };

/* The upper two bits of an instruction; its operand is below them. */
enum { CFA_ADVANCE_LOC = 1, CFA_OFFSET = 2, CFA_RESTORE = 3, OPERAND_BITS = 6, OPERAND_MASK = 0x3f };

/* DW_CFA_* whose upper bits are zero. */
enum {
  CFA_NOP = 0x00,
  CFA_SET_LOC = 0x01,
  CFA_ADVANCE_LOC1 = 0x02,
  CFA_ADVANCE_LOC2 = 0x03,
  CFA_ADVANCE_LOC4 = 0x04,
  CFA_OFFSET_EXTENDED = 0x05,
  CFA_RESTORE_EXTENDED = 0x06,
  CFA_UNDEFINED = 0x07,
  CFA_SAME_VALUE = 0x08,
  CFA_REGISTER = 0x09,
  CFA_REMEMBER_STATE = 0x0a,
  CFA_RESTORE_STATE = 0x0b,
  CFA_DEF_CFA = 0x0c,
  CFA_DEF_CFA_REGISTER = 0x0d,
  CFA_DEF_CFA_OFFSET = 0x0e,
  CFA_DEF_CFA_EXPRESSION = 0x0f,
  CFA_EXPRESSION = 0x10,
  CFA_OFFSET_EXTENDED_SF = 0x11,
  CFA_DEF_CFA_SF = 0x12,
  CFA_DEF_CFA_OFFSET_SF = 0x13,
  CFA_VAL_OFFSET = 0x14,
  CFA_VAL_OFFSET_SF = 0x15,
  CFA_VAL_EXPRESSION = 0x16,
  CFA_MIPS_ADVANCE_LOC8 = 0x1d,
  CFA_AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c,
  CFA_AARCH64_NEGATE_RA_STATE = 0x2d,
  CFA_GNU_ARGS_SIZE = 0x2e,
  CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

struct run {
  const struct hwi_fde *fde;
  struct hwi_cfi_cursor code;
  uintptr_t location;
  struct hwi_cfi_rules *now;
  struct hwi_cfi_rules initial;
  bool is_cie; /* there are no initial rules yet */
  uint32_t depth;
  struct hwi_cfi_rules remembered[MOST_REMEMBERED];
};

static bool set_rule(struct run *run, uint64_t which, enum hwi_cfi_rule rule, int64_t value)
{
  if (which >= HWI_REG_COUNT)
    return true; /* vector registers and the like are not needed */
  if (value != (int32_t)value)
    return false;
  run->now->rule[which] = (uint8_t)rule;
  run->now->value[which] = (int32_t)value;
  return true;
}

static bool set_factored(struct run *run, uint64_t which, enum hwi_cfi_rule rule, int64_t value)
{
  return !__builtin_mul_overflow(value, run->fde->data_align, &value) && set_rule(run, which, rule, value);
}

/* Stores the place of the expression, and skips it. */
static bool set_expression(struct run *run, uint64_t which, enum hwi_cfi_rule rule)
{
  int64_t place = (int64_t)((uintptr_t)run->code.at - run->fde->span.low);
  hwi_cfi_cursor_skip(&run->code, hwi_cfi_cursor_uleb(&run->code));
  return set_rule(run, which, rule, place);
}

static bool restore_rule(struct run *run, uint64_t which)
{
  if (run->is_cie)
    return false;
  return which >= HWI_REG_COUNT || set_rule(run, which, run->initial.rule[which], run->initial.value[which]);
}

static bool set_cfa(struct run *run, uint64_t which, int64_t offset)
{
  if (which >= HWI_REG_RA || offset != (int32_t)offset)
    return false;
  run->now->cfa = HWI_CFA_REGISTER;
  run->now->cfa_register = (uint8_t)which;
  run->now->cfa_value = (int32_t)offset;
  return true;
}

static bool set_cfa_factored(struct run *run, uint64_t which, int64_t offset)
{
  return !__builtin_mul_overflow(offset, run->fde->data_align, &offset) && set_cfa(run, which, offset);
}

static bool advance(struct run *run, uint64_t count)
{
  return !__builtin_mul_overflow(count, run->fde->code_align, &count) &&
         !__builtin_add_overflow(run->location, count, &run->location);
}

static bool remember(struct run *run)
{
  if (run->depth == MOST_REMEMBERED)
    return false;
  run->remembered[run->depth++] = *run->now;
  return true;
}

static bool restore(struct run *run)
{
  if (run->depth == 0)
    return false;
  *run->now = run->remembered[--run->depth];
  return true;
}

static bool set_cfa_expression(struct run *run)
{
  uintptr_t place = (uintptr_t)run->code.at - run->fde->span.low;
  hwi_cfi_cursor_skip(&run->code, hwi_cfi_cursor_uleb(&run->code));
  if (place > INT32_MAX)
    return false;
  run->now->cfa = HWI_CFA_EXPRESSION;
  run->now->cfa_value = (int32_t)place;
  return true;
}

/* Runs an instruction about the CFA. */
static bool run_cfa(struct run *run, uint8_t instruction)
{
  struct hwi_cfi_cursor *code = &run->code;
  uint64_t which;
  switch (instruction) {
  case CFA_DEF_CFA:
    which = hwi_cfi_cursor_uleb(code);
    return set_cfa(run, which, (int64_t)hwi_cfi_cursor_uleb(code));
  case CFA_DEF_CFA_SF:
    which = hwi_cfi_cursor_uleb(code);
    return set_cfa_factored(run, which, hwi_cfi_cursor_sleb(code));
  case CFA_DEF_CFA_EXPRESSION:
    return set_cfa_expression(run);
  }
  if (instruction == CFA_DEF_CFA_REGISTER &&
      run->now->cfa != HWI_CFA_EXPRESSION) /* with offset 0 if it is the first one */
    return set_cfa(run, hwi_cfi_cursor_uleb(code), run->now->cfa_value);
  if (run->now->cfa != HWI_CFA_REGISTER)
    return false; /* the other instructions change the offset of "register + offset" */
  switch (instruction) {
  case CFA_DEF_CFA_OFFSET:
    return set_cfa(run, run->now->cfa_register, (int64_t)hwi_cfi_cursor_uleb(code));
  case CFA_DEF_CFA_OFFSET_SF:
    return set_cfa_factored(run, run->now->cfa_register, hwi_cfi_cursor_sleb(code));
  default:
    return false;
  }
}

/* Runs an instruction whose first operand is a register. */
static bool run_register(struct run *run, uint8_t instruction)
{
  struct hwi_cfi_cursor *code = &run->code;
  uint64_t which = hwi_cfi_cursor_uleb(code);
  int64_t value;
  switch (instruction) {
  case CFA_OFFSET_EXTENDED:
    return set_factored(run, which, HWI_CFI_OFFSET, (int64_t)hwi_cfi_cursor_uleb(code));
  case CFA_OFFSET_EXTENDED_SF:
    return set_factored(run, which, HWI_CFI_OFFSET, hwi_cfi_cursor_sleb(code));
  case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
    return !__builtin_sub_overflow(0, (int64_t)hwi_cfi_cursor_uleb(code), &value) &&
           set_factored(run, which, HWI_CFI_OFFSET, value);
  case CFA_VAL_OFFSET:
    return set_factored(run, which, HWI_CFI_VALUE_OFFSET, (int64_t)hwi_cfi_cursor_uleb(code));
  case CFA_VAL_OFFSET_SF:
    return set_factored(run, which, HWI_CFI_VALUE_OFFSET, hwi_cfi_cursor_sleb(code));
  case CFA_RESTORE_EXTENDED:
    return restore_rule(run, which);
  case CFA_UNDEFINED:
    return set_rule(run, which, HWI_CFI_UNDEFINED, 0);
  case CFA_SAME_VALUE:
    return set_rule(run, which, HWI_CFI_SAME, 0);
  case CFA_REGISTER:
    value = (int64_t)hwi_cfi_cursor_uleb(code);
    return set_rule(run, which, value >= 0 && value < HWI_REG_COUNT ? HWI_CFI_REGISTER : HWI_CFI_UNDEFINED, value);
  case CFA_EXPRESSION:
    return set_expression(run, which, HWI_CFI_EXPRESSION);
  case CFA_VAL_EXPRESSION:
    return set_expression(run, which, HWI_CFI_VALUE_EXPRESSION);
  default:
    return false; /* unknown: its operands cannot be skipped */
  }
}

static bool run_instruction(struct run *run)
{
  struct hwi_cfi_cursor *code = &run->code;
  uint8_t instruction = *code->at++;
  uint8_t operand = instruction & OPERAND_MASK;
  switch (instruction >> OPERAND_BITS) {
  case CFA_ADVANCE_LOC:
    return advance(run, operand);
  case CFA_OFFSET:
    return set_factored(run, operand, HWI_CFI_OFFSET, (int64_t)hwi_cfi_cursor_uleb(code));
  case CFA_RESTORE:
    return restore_rule(run, operand);
  }
  switch (instruction) {
  case CFA_NOP:
    return true;
  case CFA_SET_LOC:
    run->location = hwi_cfi_cursor_pointer(code, run->fde->encoding, run->fde->data_base);
    return true;
  case CFA_ADVANCE_LOC1:
    return advance(run, hwi_cfi_cursor_bytes(code, 1));
  case CFA_ADVANCE_LOC2:
    return advance(run, hwi_cfi_cursor_bytes(code, 2));
  case CFA_ADVANCE_LOC4:
    return advance(run, hwi_cfi_cursor_bytes(code, 4));
  case CFA_MIPS_ADVANCE_LOC8:
    return advance(run, hwi_cfi_cursor_bytes(code, 8));
  case CFA_REMEMBER_STATE:
    return remember(run);
  case CFA_RESTORE_STATE:
    return restore(run);
  case CFA_GNU_ARGS_SIZE:
    hwi_cfi_cursor_uleb(code);
    return true;
  case CFA_AARCH64_NEGATE_RA_STATE: /* not tracked: every return address is read as if it were signed */
  case CFA_AARCH64_NEGATE_RA_STATE_WITH_PC:
    return HWI_ARCH_SIGNS_RETURNS;
  case CFA_DEF_CFA:
  case CFA_DEF_CFA_SF:
  case CFA_DEF_CFA_REGISTER:
  case CFA_DEF_CFA_OFFSET:
  case CFA_DEF_CFA_OFFSET_SF:
  case CFA_DEF_CFA_EXPRESSION:
    return run_cfa(run, instruction);
  default:
    return run_register(run, instruction);
  }
}

/* Runs the two instructions that make up most of a function's CFI: advance by a few bytes of code, and set the offset
 * of the CFA after a push or a pop. Stops at any other instruction, and where run_until would stop. */
static void run_usual(struct run *run, uintptr_t pc)
{
  const uint8_t *at = run->code.at, *end = run->code.end;
  uintptr_t location = run->location, highest = UINTPTR_MAX - OPERAND_MASK;
  if (run->fde->code_align != 1 || run->now->cfa != HWI_CFA_REGISTER || pc > highest)
    return;
  for (; end - at >= 2 && location <= pc; at++) {
    if (*at >> OPERAND_BITS == CFA_ADVANCE_LOC)
      location += *at & OPERAND_MASK;
    else if (*at == CFA_DEF_CFA_OFFSET && at[1] < 0x80)
      run->now->cfa_value = *++at;
    else
      break;
  }
  run->code.at = at;
  run->location = location;
}

static bool run_until(struct run *run, uintptr_t pc)
{
  for (uint32_t i = 0; run->code.at < run->code.end && run->location <= pc; i++) {
    if (i == MOST_INSTRUCTIONS || !run_instruction(run) || run->code.bad)
      return false;
    run_usual(run, pc);
  }
  return true;
}

/* --- the cache --- */

/* Invariant: running `code` from the function's start up to `pc` ends at `at`, `location` and `now`, with no remembered
 * state. */
struct cached_run {
  const uint8_t *code; /* NULL: empty */
  const uint8_t *at;
  uintptr_t location, pc;
  struct hwi_cfi_rules now;
};

enum { CACHED_RUNS = HWI_CFI_CACHE_BYTES / sizeof(struct cached_run), LONG_CODE_BYTES = 48 };

struct hwi_cfi_cache {
  struct cached_run runs[CACHED_RUNS];
};
static_assert(sizeof(struct hwi_cfi_cache) <= HWI_CFI_CACHE_BYTES, "it fits");

void hwi_cfi_cache_clear(struct hwi_cfi_cache *cache)
{
  for (size_t i = 0; i < CACHED_RUNS; i++)
    cache->runs[i].code = NULL;
}

/* Returns the slot of the code, or NULL if there is no cache or the code is too short to gain from it. */
static struct cached_run *slot_of(struct hwi_cfi_cache *cache, const struct hwi_cfi_cursor *code)
{
  if (!cache || code->end - code->at < LONG_CODE_BYTES)
    return NULL;
  return &cache->runs[((uintptr_t)code->at * UINT64_C(0x9e3779b97f4a7c15) >> 40) % CACHED_RUNS];
}

static void resume_from(struct run *run, uintptr_t pc, const struct cached_run *slot)
{
  if (slot->code != run->code.at || slot->pc > pc)
    return;
  run->code.at = slot->at;
  run->location = slot->location;
  *run->now = slot->now;
}

/* The code pointer is cleared first and set last, so that an event that is abandoned in between leaves an empty
 * slot. */
static void save_to(const struct run *run, uintptr_t pc, struct cached_run *slot)
{
  if (run->depth)
    return;
  slot->code = NULL;
  atomic_signal_fence(memory_order_seq_cst);
  slot->at = run->code.at;
  slot->location = run->location;
  slot->pc = pc;
  slot->now = *run->now;
  atomic_signal_fence(memory_order_seq_cst);
  slot->code = run->fde->code.at;
}

/* Not inlined, so that the remembered rules have left the stack when an expression needs its own stack. */
__attribute__((noinline)) bool hwi_cfi_rules_at(const struct hwi_fde *fde, uintptr_t pc, struct hwi_cfi_cache *cache,
                                                struct hwi_cfi_rules *rules)
{
  struct run run;
  memset(rules, 0, sizeof *rules);
  run.fde = fde;
  run.now = rules;
  run.depth = 0;
  run.code = fde->cie_code;
  run.location = fde->start;
  run.is_cie = true;
  if (!run_until(&run, pc))
    return false;
  run.initial = *rules;
  run.is_cie = false;
  run.depth = 0;
  run.code = fde->code;
  run.location = fde->start;
  struct cached_run *slot = slot_of(cache, &run.code);
  if (slot)
    resume_from(&run, pc, slot);
  if (!run_until(&run, pc))
    return false;
  if (slot)
    save_to(&run, pc, slot);
  return rules->cfa != HWI_CFA_UNSET;
}
