/* x86_64.h - instructions of x86-64; internal to this folder, and to its tests */
#ifndef HWI_PLATFORM_CODE_X86_64_H
#define HWI_PLATFORM_CODE_X86_64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hwi_x86_map { HWI_X86_ONE_BYTE, HWI_X86_0F, HWI_X86_0F38, HWI_X86_0F3A };

struct hwi_instruction {
  uint8_t bytes;        /* its length */
  uint8_t map;          /* enum hwi_x86_map */
  uint8_t opcode;       /* the last byte of it */
  uint8_t modrm;        /* if has_modrm */
  uint8_t prefix;       /* 0x66, 0xf2 or 0xf3, the last one; 0: none */
  uint8_t immediate;    /* bytes of immediate operands */
  uint8_t rip_off;      /* where the 4 bytes of a displacement from the next instruction are; 0: there is none */
  uint8_t relative_off; /* where the distance of a jump or call is; 0: it is none */
  uint8_t relative_bytes;
  bool has_modrm, is_vector; /* is_vector: VEX or EVEX */
  bool is_locked, has_segment;
};

/* Decodes the instruction at `code`, of which `limit` bytes can be read. Returns false if it is not known, or longer. */
bool hwi_x86_decode(struct hwi_instruction *instruction, const uint8_t *code, size_t limit);

/* Returns whether the instruction does the same at another place, once its displacements are adjusted, and the return address of a
 * call. */
bool hwi_x86_is_movable(const struct hwi_instruction *instruction);

#endif
