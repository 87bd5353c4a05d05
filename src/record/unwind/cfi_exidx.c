/* cfi_exidx.c - reads the unwind tables of 32-bit Arm, in place of .eh_frame: the rules at an address
 *
 * Source: "Exception Handling ABI for the Arm Architecture" (EHABI). PT_ARM_EXIDX is a table of pairs of words, sorted by address: the
 * place of a function (prel31: relative to the word itself, in 31 bits), and how to unwind it: that it cannot be unwound, or up to
 * three instructions, or the place of an entry in .ARM.extab. Such an entry begins with the index of one of three compact models, or
 * with the place of a personality routine of a language; gcc and clang put the instructions after that, too.
 *
 * An instruction is a byte or two, read from the most significant byte of each word on. Together they undo a function's prologue: vsp, at
 * first the sp, moves up, and registers are loaded from where it points. So they hold at the calls that a function makes, not in
 * the middle of its prologue. Here they are not executed but noted as rules: vsp at the end is the CFA, and each register was saved
 * at a distance from it.
 *
 * C code that was compiled without tables, and code in assembler, cannot be unwound: linkers add entries that say so. The first function of
 * a program and that which starts a thread say the same, though there the stack is complete. These two are recognised.
 */
#include <elf.h>

#include "record/unwind/cfi_internal.h"

#ifndef PT_ARM_EXIDX
#define PT_ARM_EXIDX 0x70000001
#endif

enum {
  WORD = sizeof(uint32_t),
  PAIR_BYTES = 2 * WORD,
  CANNOT_UNWIND = 1,
  SHORT_WORD_OFF = 1, /* from a word to its first byte with an instruction, if there are three of them */
  LONG_WORD_OFF = 2,
  ENTRY_CODE_BYTES = 128, /* of the function at a program's entry, until it has called the last one */
};
#define IS_COMPACT 0x80000000u

/* Instructions; the others have operands in these bytes. */
enum {
  MOVE_UP = 0x00, /* 00xxxxxx, 01xxxxxx: by 4 * x + 4 */
  MOVE_DOWN = 0x40,
  LOAD_MASK = 0x80,         /* 1000iiii iiiiiiii: r4 to r15; no bits: refuse to unwind */
  SET_FROM_REGISTER = 0x90, /* 1001nnnn */
  LOAD_RANGE = 0xa0,        /* 1010lnnn: r4 to r(4 + n); l: r14, too */
  FINISH = 0xb0,            /* also at the end of the instructions */
  LOAD_MASK_LOW = 0xb1,     /* 0000iiii: r0 to r3 */
  MOVE_UP_FAR = 0xb2,       /* ULEB128: by 0x204 + 4 * x */
  SKIP_VFP_X = 0xb3,        /* sssscccc: c + 1 registers of 8 bytes, and 4 bytes more */
  SKIP_VFP_X_D8 = 0xb8,     /* 10111nnn: the same for n + 1 */
  SKIP_WMMX_WR10 = 0xc0,    /* 11000nnn: n + 1 registers of 8 bytes, n below 6 */
  SKIP_WMMX = 0xc6,         /* sssscccc: c + 1 registers of 8 bytes */
  SKIP_WMMX_CONTROL = 0xc7, /* 0000iiii: registers of 4 bytes */
  SKIP_VFP_UPPER = 0xc8,    /* sssscccc: c + 1 registers of 8 bytes */
  SKIP_VFP = 0xc9,          /* the same */
  SKIP_VFP_D8 = 0xd0,       /* 11010nnn: n + 1 registers of 8 bytes */
  FAR_BYTES = 0x204,
};

/* --- tables --- */

static uint32_t word_at(uintptr_t address)
{
  return *(const uint32_t *)address;
}

static uintptr_t prel31(uintptr_t address)
{
  return address + (uintptr_t)((int32_t)(word_at(address) << 1) >> 1);
}

/* Instructions have the addresses of their bytes as if the words were in the other byte order, so that they ascend. */
static bool has_next(const struct hwi_cfi_cursor *code)
{
  return code->at < code->end;
}

static uint8_t next(struct hwi_cfi_cursor *code)
{
  if (!has_next(code)) {
    code->bad = true;
    return 0;
  }
  return *(const uint8_t *)((uintptr_t)code->at++ ^ (WORD - 1));
}

/* Sets the instructions to those that begin `off` bytes into the word, and go on in `more` words. */
static bool set_code(struct hwi_fde *fde, uintptr_t word, uint32_t off, uint32_t more)
{
  if (!hwi_cfi_span_has(fde->span, word, (uintptr_t)WORD * (1 + more)))
    return false;
  fde->code =
      (struct hwi_cfi_cursor){.at = (const uint8_t *)(word + off), .end = (const uint8_t *)(word + WORD * (1 + more))};
  return true;
}

static bool read_compact(struct hwi_fde *fde, uintptr_t place)
{
  const uint32_t word = word_at(place), model = word >> 24 & 0x7f;
  if (model > 2)
    return false;
  return model == 0 ? set_code(fde, place, SHORT_WORD_OFF, 0) : set_code(fde, place, LONG_WORD_OFF, word >> 16 & 0xff);
}

/* Reads the entry of .ARM.extab. */
static bool read_entry(struct hwi_fde *fde, uintptr_t place)
{
  if (place % WORD || !hwi_cfi_span_has(fde->span, place, PAIR_BYTES))
    return false;
  if (word_at(place) & IS_COMPACT)
    return read_compact(fde, place);
  const uintptr_t data = place + WORD;
  return set_code(fde, data, SHORT_WORD_OFF, word_at(data) >> 24);
}

/* Returns whether a function without a caller continues at this return address. */
static bool is_outermost(const struct hwi_cfi_module *module, uintptr_t entry, uintptr_t address)
{
  struct hwi_cfi_span span;
  if (entry && address - entry < ENTRY_CODE_BYTES)
    return true;
  return hwi_cfi_span_find(module, PT_ARM_EXIDX, address, &span) &&
         hwi_cfi_span_has(span, address, HWI_ARCH_THREAD_END_BYTES) && hwi_arch_ends_thread((const void *)address);
}

/* Finds the pair of the function that covers pc, and sets the range that it covers. */
static uintptr_t find_pair(const struct hwi_cfi_module *module, uintptr_t count, uintptr_t pc, struct hwi_fde *fde)
{
  const uintptr_t table = module->eh_frame_hdr;
  uintptr_t low = 0, high = count; /* pairs below `low` begin at or before pc, those from `high` on after it */
  while (low < high) {
    const uintptr_t middle = low + (high - low) / 2;
    if (prel31(table + middle * PAIR_BYTES) <= pc)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == 0)
    return 0;
  const uintptr_t pair = table + (low - 1) * PAIR_BYTES;
  fde->start = prel31(pair);
  fde->end = low < count ? prel31(pair + PAIR_BYTES) : module->end;
  return pair;
}

/* --- rules --- */

struct run {
  struct hwi_cfi_cursor code;
  struct hwi_cfi_rules *rules;
  int64_t vsp; /* relative to the register rules->cfa_register */
  bool has_loaded;
};

static bool move(struct run *run, int64_t bytes)
{
  run->vsp += bytes;
  return run->vsp == (int32_t)run->vsp;
}

/* The first register is number `first`. */
static bool load(struct run *run, uint32_t first, uint32_t mask)
{
  for (uint32_t which = first; mask; which++, mask >>= 1) {
    if (!(mask & 1))
      continue;
    run->rules->rule[which] = HWI_CFI_OFFSET;
    run->rules->value[which] = (int32_t)run->vsp; /* not yet relative to the CFA */
    run->has_loaded = true;
    if (!move(run, WORD))
      return false;
  }
  return true;
}

/* After a load, the places of registers are relative to another one, which no compiler needs. */
static bool set_from(struct run *run, uint32_t which)
{
  if (which == HWI_REG_SP || which == HWI_REG_RA || run->has_loaded)
    return false;
  run->rules->cfa_register = (uint8_t)which;
  run->vsp = 0;
  return true;
}

static bool move_far(struct run *run)
{
  uint64_t words = 0;
  for (uint32_t shift = 0; shift < 28; shift += 7) {
    const uint8_t byte = next(&run->code);
    words |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80)
      return move(run, FAR_BYTES + (int64_t)words * WORD);
  }
  return false;
}

static bool run_with_operand(struct run *run, uint8_t instruction)
{
  const uint8_t operand = next(&run->code);
  const int64_t bytes = ((int64_t)(operand & 0xf) + 1) * 8;
  switch (instruction) {
  case LOAD_MASK_LOW:
    return operand && operand <= 0xf && load(run, 0, operand);
  case SKIP_VFP_X:
    return move(run, bytes + WORD);
  case SKIP_WMMX_CONTROL:
    return operand && operand <= 0xf && move(run, (int64_t)__builtin_popcount(operand) * WORD);
  case SKIP_WMMX:
  case SKIP_VFP_UPPER:
  case SKIP_VFP:
    return move(run, bytes);
  default:
    return false;
  }
}

static bool run_instruction(struct run *run, uint8_t instruction)
{
  const uint8_t number = instruction & 7;
  if (instruction < LOAD_MASK) {
    const int64_t bytes = (instruction & 0x3f) * WORD + WORD;
    return move(run, instruction < MOVE_DOWN ? bytes : -bytes);
  }
  switch (instruction & 0xf0) {
  case LOAD_MASK: {
    const uint32_t mask = (uint32_t)(instruction & 0xf) << 8 | next(&run->code);
    return mask && load(run, 4, mask);
  }
  case SET_FROM_REGISTER:
    return set_from(run, instruction & 0xf);
  case LOAD_RANGE:
    return load(run, 4, (2u << number) - 1) && (!(instruction & 8) || load(run, HWI_REG_LINK, 1));
  }
  switch (instruction & 0xf8) {
  case SKIP_VFP_X_D8:
    return move(run, (number + 1) * 8 + WORD);
  case SKIP_VFP_D8:
    return move(run, (number + 1) * 8);
  case SKIP_WMMX_WR10:
    if (instruction < SKIP_WMMX)
      return move(run, (number + 1) * 8);
  }
  return instruction == MOVE_UP_FAR ? move_far(run) : run_with_operand(run, instruction);
}

bool hwi_cfi_rules_at(const struct hwi_fde *fde, uintptr_t pc, struct hwi_cfi_cache *cache, struct hwi_cfi_rules *rules)
{
  struct run run = {.code = fde->code, .rules = rules};
  (void)pc, (void)cache; /* the rules are the same in all of a function, and short */
  memset(rules, 0, sizeof *rules);
  rules->cfa = HWI_CFA_REGISTER;
  rules->cfa_register = HWI_REG_SP;
  if (!has_next(&run.code)) { /* see hwi_fde_find */
    rules->rule[HWI_REG_LINK] = HWI_CFI_UNDEFINED;
    return true;
  }
  while (has_next(&run.code)) {
    const uint8_t instruction = next(&run.code);
    if (instruction == FINISH)
      break;
    if (!run_instruction(&run, instruction) || run.code.bad)
      return false;
  }
  rules->cfa_value = (int32_t)run.vsp;
  for (uint32_t i = 0; i < HWI_REG_COUNT; i++)
    rules->value[i] -= rules->rule[i] == HWI_CFI_OFFSET ? rules->cfa_value : 0;
  return true;
}

void hwi_cfi_cache_clear(struct hwi_cfi_cache *cache)
{
  (void)cache;
}

/* Where all registers are loaded, among them sp and pc, the kernel has stored them, for the handler of a signal. */
static bool find_signal(struct hwi_fde *fde)
{
  struct hwi_cfi_rules rules;
  if (!hwi_cfi_rules_at(fde, fde->start, NULL, &rules))
    return false;
  fde->signal = rules.rule[HWI_REG_SP] == HWI_CFI_OFFSET;
  if (!fde->signal)
    return rules.rule[HWI_REG_RA] == HWI_CFI_UNSET;
  fde->registers_off = rules.value[0] + rules.cfa_value;
  return rules.rule[0] == HWI_CFI_OFFSET && rules.rule[HWI_REG_RA] == HWI_CFI_OFFSET &&
         rules.value[HWI_REG_RA] - rules.value[0] == HWI_ARCH_SIGNAL_PC && rules.cfa_register == HWI_REG_SP;
}

/* An entry of a function without a caller gets no instructions. */
bool hwi_fde_find(const struct hwi_cfi_module *module, uintptr_t pc, struct hwi_fde *fde)
{
  struct hwi_cfi_tables tables;
  const uintptr_t table = module->eh_frame_hdr;
  if (!table || table % WORD || !hwi_cfi_span_find(module, PT_ARM_EXIDX, table, &fde->span) ||
      !hwi_cfi_tables_find(module, PT_ARM_EXIDX, &tables) || !hwi_cfi_span_has(fde->span, table, tables.bytes))
    return false;
  const uintptr_t pair = find_pair(module, tables.bytes / PAIR_BYTES, pc, fde);
  if (!pair)
    return false;
  const uint32_t word = word_at(pair + WORD);
  fde->signal = false;
  fde->registers_off = 0;
  if (word == CANNOT_UNWIND) {
    fde->code = (struct hwi_cfi_cursor){.at = NULL};
    return is_outermost(module, tables.entry, pc + 1);
  }
  return (word & IS_COMPACT ? word >> 24 == IS_COMPACT >> 24 && read_compact(fde, pair + WORD)
                            : read_entry(fde, prel31(pair + WORD))) &&
         find_signal(fde);
}
