/* aarch64_decode.c - which instructions of 64-bit Arm have a distance, and which of them can be moved
 *
 * Each instruction is a word of 4 bytes. Some bits of it (28 to 25) are its group. Those that depend on their own address are in three
 * groups: branches, the addresses among the arithmetic with constants, the literals among the loads. In the group of branches, which also
 * has the system's instructions, what is not in the lists below is not known: a later extension may jump there. So is what is in
 * no group. Other instructions need no list to be read over, since none of them jumps.
 *
 * What can be moved is listed, too, with the bits that are the same in all instructions of a line.
 */
#include "platform/code/aarch64.h"

#include <stddef.h>

struct pattern {
  uint32_t mask, bits;
};

static bool is_in(const struct pattern *patterns, size_t count, uint32_t word)
{
  for (size_t i = 0; i < count; i++)
    if ((word & patterns[i].mask) == patterns[i].bits)
      return true;
  return false;
}

#define IS_IN(patterns, word) is_in(patterns, sizeof(patterns) / sizeof *(patterns), word)

/* --- distances --- */

static const struct distance {
  struct pattern pattern;
  uint8_t kind, low, width; /* in instructions */
} distances[] = {
    {{0xfc000000, 0x14000000}, HWI_ARM64_JUMP, 0, 26},    {{0xfc000000, 0x94000000}, HWI_ARM64_CALL, 0, 26},
    {{0xff000000, 0x54000000}, HWI_ARM64_JUMP_IF, 5, 19}, /* b.eq, bc.eq */
    {{0x7e000000, 0x34000000}, HWI_ARM64_JUMP_IF, 5, 19}, /* cbz, cbnz */
    {{0x7e000000, 0x36000000}, HWI_ARM64_JUMP_IF, 5, 14}, /* tbz, tbnz */
    {{0x3f000000, 0x18000000}, HWI_ARM64_LOAD, 5, 19},    /* ldr, ldrsw, prfm */
    {{0x3f000000, 0x1c000000}, HWI_ARM64_LOAD, 5, 19},    /* ldr of a vector register */
};

static int64_t signed_field(uint32_t word, unsigned low, unsigned width)
{
  const uint64_t field = word >> low & ((UINT64_C(1) << width) - 1), sign = UINT64_C(1) << (width - 1);
  return (int64_t)((field ^ sign) - sign);
}

/* adr, adrp: the lowest two bits of the distance are apart from the others. */
static bool take_address(struct hwi_instruction *is)
{
  enum { PAGE_SHIFT = 12 };
  if ((is->word & 0x1f000000) != 0x10000000)
    return false;
  const int64_t number = signed_field(is->word, 5, 19) * 4 + (is->word >> 29 & 3);
  const bool is_page = is->word >> 31;
  is->kind = is_page ? HWI_ARM64_PAGE : HWI_ARM64_ADDRESS;
  is->distance = is_page ? number * (1 << PAGE_SHIFT) : number;
  return true;
}

static bool take_distance(struct hwi_instruction *is)
{
  for (size_t i = 0; i < sizeof distances / sizeof *distances; i++) {
    const struct distance *one = &distances[i];
    if ((is->word & one->pattern.mask) != one->pattern.bits)
      continue;
    is->kind = one->kind, is->low = one->low, is->width = one->width;
    is->distance = signed_field(is->word, one->low, one->width) * HWI_ARM64_BYTES;
    return true;
  }
  return take_address(is);
}

uintptr_t hwi_arm64_target(const struct hwi_instruction *instruction, uintptr_t address)
{
  const uintptr_t page_mask = 0xfff;
  const uintptr_t from = instruction->kind == HWI_ARM64_PAGE ? address & ~page_mask : address;
  return from + (uintptr_t)instruction->distance;
}

/* --- others --- */

/* Of the group of branches. */
static const struct pattern without_distance[] = {
    {0xfe1f0000, 0xd61f0000}, /* br, blr, ret, eret, and those that authenticate */
    {0xff000000, 0xd4000000}, /* svc, brk, hlt and the like */
    {0xff000000, 0xd5000000}, /* hints, barriers, system registers */
};

static bool is_known(uint32_t word)
{
  enum { NONE_1 = 1, NONE_2 = 3, BRANCHES = 10, BRANCHES_MASK = 14 };
  const uint32_t group = word >> 25 & 15;
  if (group == NONE_1 || group == NONE_2)
    return false;
  return (group & BRANCHES_MASK) != BRANCHES || IS_IN(without_distance, word);
}

bool hwi_arm64_decode(struct hwi_instruction *instruction, uint32_t word)
{
  *instruction = (struct hwi_instruction){.word = word};
  return take_distance(instruction) || is_known(word);
}

/* --- what can be moved --- */

static const struct pattern movable[] = {
    {0x1f800000, 0x11000000}, /* add, sub with a constant */
    {0x1f800000, 0x12000000}, /* and, orr, eor */
    {0x1f800000, 0x12800000}, /* movz, movn, movk */
    {0x1f800000, 0x13000000}, /* ubfm, sbfm, bfm */
    {0x7fa00000, 0x13800000}, /* extr */
    {0x1f000000, 0x0a000000}, /* and, orr, eor, bic of registers */
    {0x1f000000, 0x0b000000}, /* add, sub */
    {0x1fe00000, 0x1a000000}, /* adc, sbc */
    {0x1fe00000, 0x1a400000}, /* ccmp */
    {0x1fe00000, 0x1a800000}, /* csel */
    {0x5fe00000, 0x1ac00000}, /* shifts, divisions (none traps) */
    {0x5fff0000, 0x5ac00000}, /* rbit, rev, clz; not those that sign, some of which depend on the address */
    {0x1f000000, 0x1b000000}, /* madd, msub */
    {0x3a000000, 0x28000000}, /* ldp, stp */
    {0x3b000000, 0x39000000}, /* ldr, str: a constant is the offset, */
    {0x3b200000, 0x38000000}, /* or one that changes the register, */
    {0x3b200c00, 0x38200800}, /* or a register */
    {0x0e000000, 0x0e000000}, /* all of floating point and vectors */
    {0xffffffff, 0xd503201f}, /* nop */
    {0xffffff3f, 0xd503241f}, /* bti */
    {0xffffffbf, 0xd503233f}, /* paciasp, pacibsp */
    {0xffffffe0, 0xd53bd040}, /* mrs of tpidr_el0, the thread pointer */
    {0xfffffc1f, 0xd61f0000}, /* br */
    {0xfffffc1f, 0xd65f0000}, /* ret */
};

/* A call stores the address after it. Compilers let no function begin with a literal. */
bool hwi_arm64_is_movable(const struct hwi_instruction *instruction)
{
  switch ((enum hwi_arm64_kind)instruction->kind) {
  case HWI_ARM64_JUMP:
  case HWI_ARM64_JUMP_IF:
  case HWI_ARM64_ADDRESS:
  case HWI_ARM64_PAGE:
    return true;
  case HWI_ARM64_CALL:
  case HWI_ARM64_LOAD:
    return false;
  case HWI_ARM64_OTHER:
    break;
  }
  return IS_IN(movable, instruction->word);
}
