/* aarch64.h - instructions of 64-bit Arm; internal to this folder, and to its tests */
#ifndef HWI_PLATFORM_CODE_AARCH64_H
#define HWI_PLATFORM_CODE_AARCH64_H

#include <stdbool.h>
#include <stdint.h>

enum { HWI_ARM64_BYTES = 4 }; /* of each instruction */

enum hwi_arm64_kind {
  HWI_ARM64_OTHER,   /* has no distance */
  HWI_ARM64_JUMP,    /* b */
  HWI_ARM64_CALL,    /* bl */
  HWI_ARM64_JUMP_IF, /* b.eq and the like, cbz, tbz */
  HWI_ARM64_ADDRESS, /* adr */
  HWI_ARM64_PAGE,    /* adrp: the distance is between pages of 4 KiB */
  HWI_ARM64_LOAD,    /* ldr, ldrsw, prfm of what lies at a distance (a literal) */
};

struct hwi_instruction {
  uint32_t word;
  uint8_t kind;     /* enum hwi_arm64_kind */
  uint8_t low;      /* the lowest bit of the distance in the word, */
  uint8_t width;    /* and how many bits it has there; not for ADDRESS and PAGE */
  int64_t distance; /* in bytes */
};

/* Decodes an instruction. Returns false if it is not known. */
bool hwi_arm64_decode(struct hwi_instruction *instruction, uint32_t word);

/* Returns where an instruction at `address` that has a distance goes to, or what it reads. */
uintptr_t hwi_arm64_target(const struct hwi_instruction *instruction, uintptr_t address);

/* Returns whether the instruction does the same at another place, once its distance is adjusted. */
bool hwi_arm64_is_movable(const struct hwi_instruction *instruction);

#endif
