/* x86_64_decode.c - the lengths of instructions of x86-64, and which of them can be moved
 *
 * An instruction is: prefixes, perhaps REX, an opcode in one of four maps (one byte; 0F; 0F 38; 0F 3A), perhaps ModRM with SIB
 * and displacement, perhaps an immediate operand. VEX and EVEX stand for prefixes, REX and the map in one. So the length depends
 * on three facts about an opcode: whether it is defined, has ModRM, and which immediate it has. They are in one table for each of the
 * first two maps; in the other two, all opcodes have ModRM, and all of 0F 3A a byte.
 *
 * What is defined for 32-bit code only, or differs between Intel's and AMD's CPUs, is not known here: nothing is guessed.
 */
#include "platform/code/x86_64.h"

#include <string.h>

enum { MOST_BYTES = 15 };

/* Kinds of opcodes: one character each in the tables below. */
enum kind {
  NONE = '-',      /* nothing follows */
  MODRM = 'm',     /* ModRM */
  MODRM_1 = 'b',   /* ModRM and a byte */
  MODRM_Z = 'z',   /* ModRM and 4 bytes, or 2 with the prefix 66 */
  IMM_1 = '1',     /* a byte */
  IMM_2 = '2',     /* 2 bytes */
  IMM_3 = '3',     /* 3 bytes */
  IMM_Z = '4',     /* 4 bytes, or 2 with the prefix 66 */
  IMM_V = 'v',     /* the same, but 8 with REX.W */
  ADDRESS = 'a',   /* 8 bytes, or 4 with the prefix 67 */
  JUMP_1 = 'j',    /* the distance of a jump, a byte */
  JUMP_4 = 'J',    /* 4 bytes */
  GROUP_3_1 = 't', /* ModRM; and a byte for the test in it */
  GROUP_3_Z = 'T', /* the same of IMM_Z */
  UNKNOWN = '.',
};

static const char one_byte[257] = /* by rows of 16 */
    "mmmm14..mmmm14.."
    "mmmm14..mmmm14.."
    "mmmm14..mmmm14.."
    "mmmm14..mmmm14.."
    "................" /* REX */
    "----------------" /* push, pop */
    "...m....4z1b----"
    "jjjjjjjjjjjjjjjj"
    "bz.bmmmmmmmmmmmm"
    "----------.-----"
    "aaaa----14------"
    "11111111vvvvvvvv"
    "bb2-..bz3-2--1.-"
    "mmmm...-mmmmmmmm"
    "jjjj1111JJ.j----"
    ".-..--tT------mm";

static const char two_bytes[257] = "mmmm.---...-.m-."
                                   "mmmmmmmmmmmmmmmm"
                                   "........mmmmmmmm"
                                   "------.-........"
                                   "mmmmmmmmmmmmmmmm"
                                   "mmmmmmmmmmmmmmmm"
                                   "mmmmmmmmmmmmmmmm"
                                   "bbbbmmm-....mmmm"
                                   "JJJJJJJJJJJJJJJJ"
                                   "mmmmmmmmmmmmmmmm"
                                   "---mbm..---mbmmm"
                                   "mmmmmmmmm.bmmmmm"
                                   "mmbmbbbm--------"
                                   "mmmmmmmmmmmmmmmm"
                                   "mmmmmmmmmmmmmmmm"
                                   "mmmmmmmmmmmmmmm.";

struct decoder {
  const uint8_t *code;
  size_t at, limit;
  bool is_wide, is_narrow, is_short_address; /* REX.W; prefixes 66 and 67 */
};

static bool take(struct decoder *decoder, uint8_t *byte)
{
  if (decoder->at >= decoder->limit)
    return false;
  *byte = decoder->code[decoder->at++];
  return true;
}

/* --- prefixes --- */

static bool is_segment(uint8_t byte)
{
  return byte == 0x26 || byte == 0x2e || byte == 0x36 || byte == 0x3e || byte == 0x64 || byte == 0x65;
}

/* Stores the first byte after all prefixes. */
static bool take_prefixes(struct decoder *decoder, struct hwi_instruction *is, uint8_t *byte)
{
  for (;;) {
    if (!take(decoder, byte))
      return false;
    if (*byte == 0x66)
      decoder->is_narrow = true;
    if (*byte == 0x66 || *byte == 0xf2 || *byte == 0xf3)
      is->prefix = *byte;
    else if (*byte == 0x67)
      decoder->is_short_address = true;
    else if (*byte == 0xf0)
      is->is_locked = true;
    else if (is_segment(*byte))
      is->has_segment = true;
    else
      return true;
  }
}

/* --- the parts --- */

static bool skip(struct decoder *decoder, size_t bytes)
{
  decoder->at += bytes;
  return decoder->at <= decoder->limit;
}

static bool take_modrm(struct decoder *decoder, struct hwi_instruction *is)
{
  enum { REGISTER = 3, SIB = 4, NO_BASE = 5 };
  if (!take(decoder, &is->modrm))
    return false;
  is->has_modrm = true;
  const uint8_t mod = is->modrm >> 6;
  uint8_t base = is->modrm & 7, sib;
  if (mod == REGISTER)
    return true;
  const bool has_sib = base == SIB;
  if (has_sib && !take(decoder, &sib))
    return false;
  if (has_sib)
    base = sib & 7;
  if (mod == 0 && base == NO_BASE && !has_sib)
    is->rip_off = (uint8_t)decoder->at;
  return skip(decoder, mod == 1 ? 1 : mod == 2 || (mod == 0 && base == NO_BASE) ? 4 : 0);
}

static bool take_immediate(struct decoder *decoder, struct hwi_instruction *is, size_t bytes)
{
  is->immediate = (uint8_t)bytes;
  return skip(decoder, bytes);
}

/* Intel's CPUs ignore the prefix 66 of a near jump or call, AMD's do not, unless there is REX.W, as in calls of __tls_get_addr. */
static bool take_distance(struct decoder *decoder, struct hwi_instruction *is, size_t bytes)
{
  if ((decoder->is_narrow && !decoder->is_wide) || decoder->is_short_address)
    return false;
  is->relative_off = (uint8_t)decoder->at;
  is->relative_bytes = (uint8_t)bytes;
  return skip(decoder, bytes);
}

static bool take_operands(struct decoder *decoder, struct hwi_instruction *is, enum kind kind)
{
  const size_t z = decoder->is_narrow && !decoder->is_wide ? 2 : 4;
  switch (kind) {
  case NONE:
    return true;
  case MODRM:
    return take_modrm(decoder, is);
  case MODRM_1:
    return take_modrm(decoder, is) && take_immediate(decoder, is, 1);
  case MODRM_Z:
    return take_modrm(decoder, is) && take_immediate(decoder, is, z);
  case IMM_1:
    return take_immediate(decoder, is, 1);
  case IMM_2:
    return take_immediate(decoder, is, 2);
  case IMM_3:
    return take_immediate(decoder, is, 3);
  case IMM_Z:
    return take_immediate(decoder, is, z);
  case IMM_V:
    return take_immediate(decoder, is, decoder->is_wide ? 8 : z);
  case ADDRESS:
    return take_immediate(decoder, is, decoder->is_short_address ? 4 : 8);
  case JUMP_1:
    return take_distance(decoder, is, 1);
  case JUMP_4:
    return take_distance(decoder, is, 4);
  case GROUP_3_1:
  case GROUP_3_Z:
    if (!take_modrm(decoder, is))
      return false;
    if ((is->modrm & 0x30) != 0) /* only the first two of the eight instructions have an immediate operand */
      return true;
    return take_immediate(decoder, is, kind == GROUP_3_1 ? 1 : z);
  case UNKNOWN:
    break;
  }
  return false;
}

/* --- the opcode --- */

/* Of an opcode whose ModRM chooses among eight instructions, some are not defined. */
static bool is_defined(const struct hwi_instruction *is)
{
  const uint8_t number = is->modrm >> 3 & 7;
  if (is->map != HWI_X86_ONE_BYTE)
    return true;
  switch (is->opcode) {
  case 0x8f: /* with another number it is the prefix of AMD's XOP */
  case 0xc6:
  case 0xc7:
    return number == 0;
  case 0xfe:
    return number <= 1;
  case 0xff:
    return number != 7;
  default:
    return true;
  }
}

static enum kind kind_of(const struct hwi_instruction *is)
{
  switch (is->map) {
  case HWI_X86_ONE_BYTE:
    return (enum kind)one_byte[is->opcode];
  case HWI_X86_0F:
    return (enum kind)two_bytes[is->opcode];
  case HWI_X86_0F38:
    return MODRM;
  default:
    return MODRM_1;
  }
}

static bool take_legacy(struct decoder *decoder, struct hwi_instruction *is, uint8_t byte)
{
  if ((byte & 0xf0) == 0x40) {
    decoder->is_wide = byte & 8;
    if (!take(decoder, &byte) || (byte & 0xf0) == 0x40)
      return false;
  }
  if (byte == 0x0f) {
    is->map = HWI_X86_0F;
    if (!take(decoder, &byte))
      return false;
    if (byte == 0x38 || byte == 0x3a) {
      is->map = byte == 0x38 ? HWI_X86_0F38 : HWI_X86_0F3A;
      if (!take(decoder, &byte))
        return false;
    }
  }
  is->opcode = byte;
  return take_operands(decoder, is, kind_of(is)) && is_defined(is);
}

/* Without a prefix before it, VEX and EVEX have the number of the map in their first byte or two. */
static bool take_vector(struct decoder *decoder, struct hwi_instruction *is, uint8_t byte)
{
  uint8_t first, more, map = HWI_X86_0F;
  is->is_vector = true;
  if (!take(decoder, &first))
    return false;
  if (byte == 0xc4)
    map = first & 0x1f;
  if (byte == 0x62)
    map = first & 0x0f;
  for (int i = 0; i < (byte == 0x62 ? 2 : byte == 0xc4 ? 1 : 0); i++)
    if (!take(decoder, &more) || (byte == 0x62 && i == 0 && !(more & 4)))
      return false;
  if (map < HWI_X86_0F || map > HWI_X86_0F3A || !take(decoder, &is->opcode))
    return false;
  is->map = map;
  if (map == HWI_X86_0F && is->opcode == 0x77 && byte != 0x62) /* vzeroupper */
    return true;
  const enum kind kind = kind_of(is);
  return (kind == MODRM || kind == MODRM_1) && take_operands(decoder, is, kind);
}

bool hwi_x86_decode(struct hwi_instruction *instruction, const uint8_t *code, size_t limit)
{
  struct decoder decoder = {.code = code, .limit = limit < MOST_BYTES ? limit : MOST_BYTES};
  struct hwi_instruction *is = instruction;
  uint8_t byte;
  memset(is, 0, sizeof *is);
  if (!take_prefixes(&decoder, is, &byte))
    return false;
  const bool is_vector = byte == 0xc4 || byte == 0xc5 || byte == 0x62;
  if (is_vector && (is->prefix || is->is_locked))
    return false;
  if (!(is_vector ? take_vector(&decoder, is, byte) : take_legacy(&decoder, is, byte)))
    return false;
  is->bytes = (uint8_t)decoder.at;
  return true;
}

/* --- what can be moved --- */

static bool is_movable_one_byte(const struct hwi_instruction *is)
{
  const uint8_t opcode = is->opcode, number = is->modrm >> 3 & 7;
  if (opcode < 0x40) /* add, or, adc, sbb, and, sub, xor, cmp */
    return true;
  if (opcode >= 0x50 && opcode < 0x60) /* push, pop of registers */
    return true;
  if (opcode >= 0x70 && opcode < 0x80) /* jumps with a condition */
    return !is->prefix;
  if (opcode >= 0xb0 && opcode < 0xc0) /* mov of a constant */
    return true;
  switch (opcode) {
  case 0x63: /* movsxd */
  case 0x68: /* push of a constant */
  case 0x6a:
  case 0x69: /* imul */
  case 0x6b:
  case 0x80: /* add to cmp with a constant */
  case 0x81:
  case 0x83:
  case 0x84: /* test */
  case 0x85:
  case 0x88: /* mov */
  case 0x89:
  case 0x8a:
  case 0x8b:
  case 0x8d: /* lea */
  case 0x98: /* sign extension of rax, into rdx */
  case 0x99:
  case 0xa8: /* test */
  case 0xa9:
  case 0xc0: /* shifts */
  case 0xc1:
  case 0xd0:
  case 0xd1:
  case 0xd2:
  case 0xd3:
  case 0xc6: /* mov of a constant */
  case 0xc7:
    return true;
  case 0x90: /* nop; pause */
    return true;
  case 0xc3: /* ret */
  case 0xe8: /* call */
  case 0xe9: /* jmp */
  case 0xeb:
    return is->prefix != 0x66;
  case 0xf6: /* test, not, neg; not the division, which may trap */
  case 0xf7:
    return number <= 5;
  case 0xfe: /* inc, dec */
    return true;
  case 0xff: /* inc, dec, jmp, push; not the calls, whose target may depend on the stack pointer */
    return number <= 1 || number == 4 || number == 6;
  default:
    return false;
  }
}

static bool is_movable_two_bytes(const struct hwi_instruction *is)
{
  const uint8_t opcode = is->opcode;
  if ((opcode & 0xf0) == 0x40 || (opcode & 0xf0) == 0x90) /* cmov, set */
    return true;
  if ((opcode & 0xf0) == 0x80) /* jumps with a condition */
    return !is->prefix;
  switch (opcode) {
  case 0x10: /* moves of SSE registers */
  case 0x11:
  case 0x12:
  case 0x13:
  case 0x16:
  case 0x17:
  case 0x28:
  case 0x29:
  case 0x6e:
  case 0x6f:
  case 0x7e:
  case 0x7f:
  case 0xd6:
  case 0x57: /* xorps, pxor */
  case 0xef:
  case 0x6c: /* punpcklqdq */
  case 0x1f: /* nop */
  case 0xaf: /* imul */
  case 0xb6: /* movzx, movsx */
  case 0xb7:
  case 0xbe:
  case 0xbf:
    return true;
  case 0x1e: /* endbr64 */
    return is->prefix == 0xf3 && is->modrm == 0xfa;
  default:
    return false;
  }
}

bool hwi_x86_is_movable(const struct hwi_instruction *instruction)
{
  if (instruction->is_vector || instruction->is_locked)
    return false;
  if (instruction->map == HWI_X86_ONE_BYTE)
    return is_movable_one_byte(instruction);
  return instruction->map == HWI_X86_0F && is_movable_two_bytes(instruction);
}
