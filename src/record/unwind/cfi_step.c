/* cfi_step.c - from a frame's registers to its caller's, with any CFI */
#include "record/unwind/cfi_internal.h"

/* A load function that remembers a refused load. An unknown register is not an error, but an unreadable slot is. */
struct watched_load {
  const struct hwi_cfi_memory *memory;
  bool refused;
};

static bool watch(void *context, uintptr_t address, uintptr_t *word)
{
  struct watched_load *watched = context;
  if (watched->memory->load(watched->memory->context, address, word))
    return true;
  watched->refused = true;
  return false;
}

static bool find_cfa(const struct hwi_cfi_rules *rules, struct hwi_cfi_span span, const struct hwi_cfi_machine *machine,
                     uintptr_t *cfa)
{
  if (rules->cfa == HWI_CFA_EXPRESSION)
    return hwi_expression_value(machine, span, rules->cfa_value, NULL, cfa);
  *cfa = machine->registers->value[rules->cfa_register] + (uintptr_t)(intptr_t)rules->cfa_value;
  return machine->registers->known >> rules->cfa_register & 1;
}

/* Returns false if the caller's register is not known. */
static bool find_register(const struct hwi_cfi_rules *rules, struct hwi_cfi_span span,
                          const struct hwi_cfi_machine *machine, uint32_t which, uintptr_t *value)
{
  uintptr_t cfa = *value; /* passed in place of the result; the initial value of expressions */
  int32_t operand = rules->value[which];
  switch ((enum hwi_cfi_rule)rules->rule[which]) {
  case HWI_CFI_UNDEFINED:
    return false;
  case HWI_CFI_UNSET:
    if (which == HWI_REG_SP)
      return true;           /* the CFA */
    if (which == HWI_REG_RA) /* on CPUs with a link register it is found by the rule of that */
      return false;
    operand = (int32_t)which; /* if a CFA depends on a scratch register, the callee preserves it */
    break;
  case HWI_CFI_SAME:
    operand = (int32_t)which;
    break;
  case HWI_CFI_REGISTER:
    break;
  case HWI_CFI_OFFSET:
    return machine->load(machine->context, cfa + (uintptr_t)(intptr_t)operand, value);
  case HWI_CFI_VALUE_OFFSET:
    *value = cfa + (uintptr_t)(intptr_t)operand;
    return true;
  case HWI_CFI_EXPRESSION:
    return hwi_expression_value(machine, span, operand, &cfa, value) && machine->load(machine->context, *value, value);
  case HWI_CFI_VALUE_EXPRESSION:
    return hwi_expression_value(machine, span, operand, &cfa, value);
  }
  *value = machine->registers->value[operand];
  return machine->registers->known >> operand & 1;
}

/* Sets the pc of the caller, and forgets its link register, which the call has overwritten. */
static void take_return_address(struct hwi_registers *caller)
{
  caller->value[HWI_REG_RA] = hwi_arch_code_address(caller->value[HWI_REG_LINK]);
  if (!HWI_ARCH_HAS_LINK)
    return;
  caller->known |= (caller->known >> HWI_REG_LINK & 1) << HWI_REG_RA;
  caller->known &= ~hwi_register_bit(HWI_REG_LINK);
}

enum hwi_step hwi_cfi_rules_apply(const struct hwi_cfi_rules *rules, struct hwi_cfi_span span,
                                  struct hwi_registers *registers, const struct hwi_cfi_memory *memory)
{
  struct watched_load watched = {memory, false};
  struct hwi_cfi_machine machine = {registers, watch, &watched};
  struct hwi_registers caller = {.known = 0};
  uintptr_t cfa;
  if (rules->rule[HWI_REG_LINK] == HWI_CFI_UNDEFINED)
    return HWI_STEP_OUTERMOST;
  if (!find_cfa(rules, span, &machine, &cfa))
    return HWI_STEP_BAD;
  for (uint32_t i = 0; i < HWI_REG_COUNT; i++) {
    uintptr_t value = cfa;
    bool known = find_register(rules, span, &machine, i, &value);
    if (watched.refused)
      return HWI_STEP_BAD;
    caller.value[i] = known ? value : 0;
    caller.known |= (uint64_t)known << i;
  }
  take_return_address(&caller);
  if (!(caller.known >> HWI_REG_RA & 1) || !(caller.known >> HWI_REG_SP & 1))
    return HWI_STEP_BAD;
  *registers = caller;
  return HWI_STEP_OK;
}

/* All registers are in the signal frame, in the order of their numbers; the pc is where the kernel puts it. */
static enum hwi_step step_signal(int32_t registers_off, struct hwi_registers *registers,
                                 const struct hwi_cfi_memory *memory)
{
  struct hwi_registers interrupted = {.known = hwi_register_bit(HWI_REG_COUNT) - 1};
  uintptr_t from = registers->value[HWI_REG_SP] + (uintptr_t)(intptr_t)registers_off;
  if (!(registers->known >> HWI_REG_SP & 1))
    return HWI_STEP_BAD;
  for (uint32_t i = 0; i < HWI_REG_COUNT; i++) {
    const uintptr_t off = i == HWI_REG_RA ? HWI_ARCH_SIGNAL_PC : i * sizeof(uintptr_t);
    if (!memory->load(memory->context, from + off, &interrupted.value[i]))
      return HWI_STEP_BAD;
  }
  *registers = interrupted;
  return HWI_STEP_OK;
}

enum hwi_step hwi_cfi_step(const struct hwi_cfi_module *module, uintptr_t pc, struct hwi_registers *registers,
                           const struct hwi_cfi_memory *memory, bool *signal_frame)
{
  struct hwi_fde fde;
  struct hwi_cfi_rules rules;
  if (!hwi_fde_find(module, pc, &fde))
    return HWI_STEP_NO_CFI;
  if (!hwi_cfi_rules_at(&fde, pc, NULL, &rules))
    return HWI_STEP_BAD;
  *signal_frame = fde.signal;
  if (fde.signal && fde.registers_off)
    return step_signal(fde.registers_off, registers, memory);
  return hwi_cfi_rules_apply(&rules, fde.span, registers, memory);
}
