/* aarch64.c - detours of functions of 64-bit Arm
 *
 * The patch is a branch of 4 bytes, in place of one instruction. A bti or paciasp at the beginning stays in front of it, since
 * indirect calls may need it; if it has signed the return address, the entry takes the signature off (autiasp), so that the wrapper
 * returns as the function would, and the original signs again. The detour is right if
 *
 * - the instruction does the same elsewhere: it is one of a list. An address that it states as a distance is loaded, a branch is
 *   written again, and one with a condition jumps over the way back to a branch without. A call is refused: it would return to the
 *   copy, for which there is no unwind table.
 * - nothing jumps to the instruction, unless it is the function's first one, which is then as a call of it. The function's own
 *   code is looked through to its end, and that of its cold part; what might be a branch that is not known here is refused.
 *
 * x16 and x17 are free where a function begins, for the linker's own code: the entry uses x16, and jumps that go through it may
 * go to a bti c or a paciasp. Branches reach 128 MiB.
 */
#include "platform/code/aarch64.h"
#include "platform/code/plan.h"

#include <string.h>

enum {
  WRAPPER_OFF = 24,                                      /* in the room, of the words that the entry loads, */
  ARGUMENT_OFF = 16,                                     /* after at most four instructions */
  ADDRESS_OFF = HWI_CODE_ROOM_BYTES - sizeof(uintptr_t), /* of the word that a copy of adr loads */
  ARGUMENT_REGISTER = 5,
  JUMP_REGISTER = 16,
};

static const uint32_t bti_c = 0xd503245f, bti_jc = 0xd50324df, paciasp = 0xd503233f, pacibsp = 0xd503237f;
static const uint32_t autiasp = 0xd50323bf, autibsp = 0xd50323ff;
static const uint32_t b = 0x14000000, ldr = 0x58000000, br = 0xd61f0000; /* without operands */

const char *hwi_code_obstacle(void)
{
  return NULL;
}

size_t hwi_code_near_bytes(void)
{
  return (size_t)112 << 20;
}

static uint32_t word_at(const uint8_t *at)
{
  uint32_t word;
  memcpy(&word, at, sizeof word);
  return word;
}

static void put_word(struct hwi_plan *plan, uint32_t word)
{
  hwi_plan_put(plan, &word, sizeof word);
}

/* Makes a branch at `from` to `target`. Returns false if it is too far. */
static bool make_jump(uint32_t *word, uintptr_t from, uintptr_t target)
{
  struct hwi_instruction is;
  const uint32_t distance_mask = 0x03ffffff;
  *word = b | ((uint32_t)((int64_t)(target - from) / HWI_ARM64_BYTES) & distance_mask);
  return hwi_arm64_decode(&is, *word) && hwi_arm64_target(&is, from) == target;
}

static bool put_jump(struct hwi_plan *plan, uintptr_t target)
{
  uint32_t word;
  const bool reaches = make_jump(&word, hwi_plan_place(plan), target);
  put_word(plan, word);
  return reaches;
}

/* Loads 8 bytes of the room into a register. */
static void put_load(struct hwi_plan *plan, uint32_t reg, size_t off)
{
  const uint32_t distance_shift = 5;
  put_word(plan, ldr | (uint32_t)(off - plan->used) / HWI_ARM64_BYTES << distance_shift | reg);
}

/* --- the copy --- */

static bool put_way_back(struct hwi_plan *plan)
{
  return put_jump(plan, (uintptr_t)plan->begin + HWI_ARM64_BYTES);
}

/* The condition jumps over the way back, to a branch. */
static bool copy_condition(struct hwi_plan *plan, const struct hwi_instruction *is)
{
  const uint32_t mask = ((UINT32_C(1) << is->width) - 1) << is->low, two = UINT32_C(2) << is->low;
  put_word(plan, (is->word & ~mask) | two);
  const bool reaches = put_way_back(plan);
  return put_jump(plan, hwi_arm64_target(is, (uintptr_t)plan->begin)) && reaches;
}

static bool copy_address(struct hwi_plan *plan, const struct hwi_instruction *is)
{
  const uint32_t register_mask = 31;
  const uintptr_t address = hwi_arm64_target(is, (uintptr_t)plan->begin);
  put_load(plan, is->word & register_mask, ADDRESS_OFF);
  memcpy(plan->detour->room + ADDRESS_OFF, &address, sizeof address);
  return put_way_back(plan);
}

static bool copy(struct hwi_plan *plan, const struct hwi_instruction *is)
{
  switch ((enum hwi_arm64_kind)is->kind) {
  case HWI_ARM64_JUMP:
    return put_jump(plan, hwi_arm64_target(is, (uintptr_t)plan->begin));
  case HWI_ARM64_JUMP_IF:
    return copy_condition(plan, is);
  case HWI_ARM64_ADDRESS:
  case HWI_ARM64_PAGE:
    return copy_address(plan, is);
  default:
    put_word(plan, is->word);
    return put_way_back(plan);
  }
}

static bool signs(uint32_t pad)
{
  return pad == paciasp || pad == pacibsp;
}

const char *hwi_plan_put_original(struct hwi_plan *plan)
{
  struct hwi_instruction is;
  const uint32_t pad = word_at(plan->request->function);
  if (plan->request->bytes < (size_t)(plan->begin - plan->request->function) + HWI_ARM64_BYTES)
    return HWI_PLAN_OPEN_END;
  put_word(plan, signs(pad) ? pad : bti_c);
  if (!hwi_arm64_decode(&is, word_at(plan->begin)) || !hwi_arm64_is_movable(&is))
    return HWI_PLAN_IMMOVABLE;
  return copy(plan, &is) ? NULL : HWI_PLAN_TOO_FAR;
}

/* --- what surrounds it --- */

const char *hwi_plan_check(const struct hwi_plan *plan, const uint8_t *code, size_t bytes)
{
  struct hwi_instruction is;
  if ((uintptr_t)code % HWI_ARM64_BYTES || bytes % HWI_ARM64_BYTES)
    return HWI_PLAN_UNKNOWN;
  for (const uint8_t *at = code, *end = code + bytes; at < end; at += HWI_ARM64_BYTES) {
    if (!hwi_arm64_decode(&is, word_at(at)))
      return HWI_PLAN_UNKNOWN;
    if (is.width && hwi_plan_is_replaced(plan, hwi_arm64_target(&is, (uintptr_t)at), HWI_ARM64_BYTES))
      return HWI_PLAN_JUMPS_BACK;
  }
  return NULL;
}

/* --- the beginning, and the way out --- */

size_t hwi_plan_pad_bytes(const struct hwi_code_request *request)
{
  const uint32_t word = request->bytes >= HWI_ARM64_BYTES ? word_at(request->function) : 0;
  return word == bti_c || word == bti_jc || signs(word) ? HWI_ARM64_BYTES : 0;
}

/* autiasp, if there is a signature; ldr x5, argument; ldr x16, wrapper; br x16. What is left of the room is 0, which is no instruction. */
void hwi_plan_put_entry(struct hwi_plan *plan)
{
  const uint32_t jump_shift = 5, pad = hwi_plan_pad_bytes(plan->request) ? word_at(plan->request->function) : 0;
  if (signs(pad))
    put_word(plan, pad == paciasp ? autiasp : autibsp);
  put_load(plan, ARGUMENT_REGISTER, ARGUMENT_OFF);
  put_load(plan, JUMP_REGISTER, WRAPPER_OFF);
  put_word(plan, br | (uint32_t)JUMP_REGISTER << jump_shift);
  plan->used = ARGUMENT_OFF;
  hwi_plan_put(plan, &plan->request->argument, sizeof plan->request->argument);
  hwi_plan_put(plan, &plan->request->wrapper, sizeof plan->request->wrapper);
}

const char *hwi_plan_put_patch(const struct hwi_plan *plan)
{
  struct hwi_code_detour *detour = plan->detour;
  uint32_t word;
  if (!make_jump(&word, (uintptr_t)plan->begin, plan->request->room))
    return HWI_PLAN_TOO_FAR;
  detour->patch_at = (uintptr_t)plan->begin;
  memcpy(detour->patch, &word, sizeof word);
  detour->patch_bytes = HWI_ARM64_BYTES;
  return NULL;
}

/* --- writing --- */

/* One store: whoever comes there meanwhile finds one instruction or the other. */
void hwi_code_write(const struct hwi_code_detour *detour)
{
  __atomic_store_n((uint32_t *)detour->patch_at, word_at(detour->patch), __ATOMIC_RELEASE);
}

/* Of the lines of both caches that have the code: what was written goes to where instructions come from, and older instructions are
 * dropped, on all CPUs. */
void hwi_code_sync(const void *start, size_t bytes)
{
  enum {
    DATA_SHIFT = 16,
    WORDS_MASK = 15
  }; /* in ctr_el0: the logarithms of the lengths of the smallest lines, in words */
  uint64_t lines;
  __asm__("mrs %0, ctr_el0" : "=r"(lines));
  const uintptr_t data = HWI_ARM64_BYTES << (lines >> DATA_SHIFT & WORDS_MASK),
                  code = HWI_ARM64_BYTES << (lines & WORDS_MASK), begin = (uintptr_t)start, end = begin + bytes;
  for (uintptr_t at = begin & ~(data - 1); at < end; at += data)
    __asm__ volatile("dc cvau, %0" : : "r"(at) : "memory");
  __asm__ volatile("dsb ish" : : : "memory");
  for (uintptr_t at = begin & ~(code - 1); at < end; at += code)
    __asm__ volatile("ic ivau, %0" : : "r"(at) : "memory");
  __asm__ volatile("dsb ish\n\tisb" : : : "memory");
}
