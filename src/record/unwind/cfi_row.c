/* cfi_row.c - converts the rules at an address to a row, if possible
 *
 * A row cannot contain an expression, but three kinds of them are too common to be interpreted at each step. Those of
 * PLT stubs and of signal trampolines are evaluated here with artificial registers and memory, and "the word at bp + n"
 * of a realigned stack is recognised by its bytes.
 */
#include "platform/arch.h"
#include "record/unwind/cfi_internal.h"

enum { WORD = sizeof(uintptr_t), OP_DEREF = 0x06, OP_BREG0 = 0x70 };

static const struct hwi_frame_row none = {.kind = HWI_ROW_NONE}, full = {.kind = HWI_ROW_FULL};

/* Two stack pointers with different low bits: an expression other than "register + constant" gives them different
 * offsets. */
#define FIRST_TRIAL ((uintptr_t)UINT64_C(0x00007ffc31c2a5d8))
#define SECOND_TRIAL ((uintptr_t)UINT64_C(0x00005e3a4e3d5a27))

/* Artificial memory: each word is its own address plus this. */
#define WORD_TAG ((uintptr_t)(UINT64_C(1) << 52))

static bool load_nothing(void *context, uintptr_t address, uintptr_t *word)
{
  (void)context, (void)address, (void)word;
  return false;
}

static bool load_tagged(void *context, uintptr_t address, uintptr_t *word)
{
  (void)context;
  *word = address + WORD_TAG;
  return true;
}

/* Computes the expression's value minus that of the register `which`, which may be used in addition to the pc. */
static bool try_out(const struct hwi_fde *fde, int32_t place, uint32_t which, uintptr_t pc, int32_t *offset)
{
  struct hwi_registers registers = {.known = hwi_register_bit(HWI_REG_RA) | hwi_register_bit(which)};
  struct hwi_cfi_machine machine = {&registers, load_nothing, NULL};
  uintptr_t first, second;
  registers.value[HWI_REG_RA] = pc;
  registers.value[which] = FIRST_TRIAL;
  if (!hwi_expression_value(&machine, fde->span, place, NULL, &first))
    return false;
  registers.value[which] = SECOND_TRIAL;
  if (!hwi_expression_value(&machine, fde->span, place, NULL, &second))
    return false;
  *offset = (int32_t)(first - FIRST_TRIAL);
  return first - FIRST_TRIAL == second - SECOND_TRIAL && first - FIRST_TRIAL == (uintptr_t)(intptr_t)*offset;
}

/* Returns whether the expression is "the word at register + offset", for the register `which`. */
static bool is_word_at(struct hwi_cfi_cursor code, uint32_t which, int32_t *offset)
{
  if (hwi_cfi_cursor_bytes(&code, 1) != OP_BREG0 + which)
    return false;
  int64_t wide = hwi_cfi_cursor_sleb(&code);
  *offset = (int32_t)wide;
  return wide == *offset && hwi_cfi_cursor_bytes(&code, 1) == OP_DEREF && !code.bad && code.at == code.end;
}

static bool squeeze_expression(const struct hwi_fde *fde, const struct hwi_cfi_rules *rules, uintptr_t pc,
                               struct hwi_frame_row *row)
{
  struct hwi_cfi_cursor code = hwi_expression_at(fde->span, rules->cfa_value);
  int32_t place = rules->cfa_value;
  if (is_word_at(code, HWI_REG_BP, &row->offset))
    row->kind = HWI_ROW_BP_DEREF;
  else if (is_word_at(code, HWI_REG_SP, &row->offset))
    row->kind = HWI_ROW_SP_DEREF;
  else if (try_out(fde, place, HWI_REG_SP, pc, &row->offset))
    row->kind = HWI_ROW_SP;
  else if (try_out(fde, place, HWI_REG_BP, pc, &row->offset))
    row->kind = HWI_ROW_BP;
  else
    return false;
  return true;
}

static bool squeeze_cfa(const struct hwi_fde *fde, const struct hwi_cfi_rules *rules, uintptr_t pc,
                        struct hwi_frame_row *row)
{
  if (rules->cfa == HWI_CFA_EXPRESSION)
    return squeeze_expression(fde, rules, pc, row);
  if (rules->cfa_register != HWI_REG_SP && rules->cfa_register != HWI_REG_BP)
    return false;
  row->kind = rules->cfa_register == HWI_REG_SP ? HWI_ROW_SP : HWI_ROW_BP;
  row->offset = rules->cfa_value;
  return true;
}

/* In a realigned frame, the caller's bp was pushed where bp points to now, wherever the CFA is. */
static bool squeeze_bp_realigned(const struct hwi_fde *fde, const struct hwi_cfi_rules *rules,
                                 struct hwi_frame_row *row)
{
  if (rules->rule[HWI_REG_BP] != HWI_CFI_EXPRESSION)
    return false;
  struct hwi_cfi_cursor code = hwi_expression_at(fde->span, rules->value[HWI_REG_BP]);
  if (hwi_cfi_cursor_bytes(&code, 1) != OP_BREG0 + HWI_REG_BP)
    return false;
  int64_t offset = hwi_cfi_cursor_sleb(&code);
  row->bp_words = (int8_t)(offset / WORD);
  return offset == row->bp_words * WORD && !code.bad && code.at == code.end;
}

static bool squeeze_bp(const struct hwi_fde *fde, const struct hwi_cfi_rules *rules, struct hwi_frame_row *row)
{
  if (row->kind == HWI_ROW_BP_DEREF)
    return squeeze_bp_realigned(fde, rules, row);
  uint8_t rule = rules->rule[HWI_REG_BP];
  int64_t return_end = (int64_t)rules->value[HWI_REG_LINK] + WORD, bytes = rules->value[HWI_REG_BP] - return_end;
  row->bp_words = 0;
  if (rule == HWI_CFI_UNSET || rule == HWI_CFI_SAME)
    return true;
  row->bp_words = (int8_t)(bytes / WORD);
  return rule == HWI_CFI_OFFSET && bytes != 0 && bytes == row->bp_words * WORD;
}

/* Returns whether the caller's sp is the CFA, and its pc is in a word of the frame; on CPUs where calls store it, in the last one. */
static bool is_ordinary_call(const struct hwi_cfi_rules *rules)
{
  uint8_t sp = rules->rule[HWI_REG_SP];
  int32_t place = rules->value[HWI_REG_LINK];
  return rules->rule[HWI_REG_LINK] == HWI_CFI_OFFSET && place <= -WORD && place % WORD == 0 &&
         (place == -WORD || HWI_ARCH_HAS_LINK) &&
         (sp == HWI_CFI_UNSET || (sp == HWI_CFI_VALUE_OFFSET && rules->value[HWI_REG_SP] == 0));
}

/* A function that has not stored its return address: a signal interrupted it, or the CFI is wrong. */
static bool is_leaf(const struct hwi_cfi_rules *rules)
{
  uint8_t link = rules->rule[HWI_REG_LINK];
  return HWI_ARCH_HAS_LINK && (link == HWI_CFI_UNSET || link == HWI_CFI_SAME) &&
         rules->rule[HWI_REG_SP] == HWI_CFI_UNSET && rules->cfa == HWI_CFA_REGISTER;
}

/* Makes the row of a signal frame. It is one if each register is loaded from its place in the ucontext. */
static struct hwi_frame_row squeeze_signal(const struct hwi_fde *fde, const struct hwi_cfi_rules *rules, uintptr_t pc)
{
  struct hwi_registers registers = {.known = hwi_register_bit(HWI_REG_RA) | hwi_register_bit(HWI_REG_SP)};
  registers.value[HWI_REG_RA] = pc;
  registers.value[HWI_REG_SP] = FIRST_TRIAL;
  if (hwi_cfi_rules_apply(rules, fde->span, &registers, &(struct hwi_cfi_memory){load_tagged, NULL}) != HWI_STEP_OK ||
      !(registers.known >> HWI_REG_BP & 1))
    return full;
  uintptr_t gregs = registers.value[HWI_REG_RA] - WORD_TAG - HWI_ARCH_SIGNAL_PC;
  int32_t offset = (int32_t)(gregs - FIRST_TRIAL);
  if (gregs - FIRST_TRIAL != (uintptr_t)(intptr_t)offset ||
      registers.value[HWI_REG_SP] != gregs + HWI_ARCH_SIGNAL_SP + WORD_TAG ||
      registers.value[HWI_REG_BP] != gregs + HWI_ARCH_SIGNAL_BP + WORD_TAG)
    return full;
  return (struct hwi_frame_row){.kind = HWI_ROW_SIGNAL, .offset = offset};
}

struct hwi_frame_row hwi_cfi_row(const struct hwi_cfi_module *module, uintptr_t pc, struct hwi_cfi_cache *cache)
{
  struct hwi_fde fde;
  struct hwi_cfi_rules rules;
  struct hwi_frame_row row = {.kind = HWI_ROW_NONE};
  if (!hwi_fde_find(module, pc, &fde) || !hwi_cfi_rules_at(&fde, pc, cache, &rules))
    return none;
  if (rules.rule[HWI_REG_LINK] == HWI_CFI_UNDEFINED)
    return (struct hwi_frame_row){.kind = HWI_ROW_OUTERMOST};
  if (fde.signal && fde.registers_off)
    return (struct hwi_frame_row){.kind = HWI_ROW_SIGNAL, .offset = fde.registers_off};
  if (fde.signal)
    return squeeze_signal(&fde, &rules, pc);
  row.return_slot = hwi_arch_return_slot_at(rules.value[HWI_REG_LINK] / WORD + 1);
  if (!(is_ordinary_call(&rules) || is_leaf(&rules)) || !squeeze_cfa(&fde, &rules, pc, &row) ||
      !squeeze_bp(&fde, &rules, &row))
    return full;
  if (is_leaf(&rules))
    row.kind = row.kind == HWI_ROW_SP ? HWI_ROW_LINK : HWI_ROW_LINK_BP;
  return row;
}
