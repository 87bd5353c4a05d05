/* cfi_forged.h - modules made of arbitrary bytes; each piece is followed by unreadable memory
 *
 * The first page holds the ELF header and the program headers. After a hole comes the segment with .eh_frame_hdr; the
 * segment's last byte is the last byte of its page. Another hole follows. A read outside of what the headers allow
 * crashes.
 */
#ifndef TESTS_CFI_FORGED_H
#define TESTS_CFI_FORGED_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "record/unwind/cfi.h"

enum { FORGED_PAGE = 4096, FORGED_SEGMENT = 64 * FORGED_PAGE, FORGED_MODULE = FORGED_SEGMENT + 4 * FORGED_PAGE };

struct forged {
  uint8_t *header, *segment; /* size of the segment; its used bytes are at its end */
  struct hwi_cfi_module module;
};

static inline bool forged_init(struct forged *forged)
{
  uint8_t *range = mmap(NULL, FORGED_MODULE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (range == MAP_FAILED)
    return false;
  forged->header = range;
  forged->segment = range + 2 * FORGED_PAGE; /* after a hole */
  forged->module = (struct hwi_cfi_module){.start = (uintptr_t)range, .end = (uintptr_t)range + FORGED_MODULE};
  return mprotect(forged->header, FORGED_PAGE, PROT_READ | PROT_WRITE) == 0 &&
         mprotect(forged->segment, FORGED_SEGMENT, PROT_READ | PROT_WRITE) == 0;
}

static inline void forged_release(struct forged *forged)
{
  munmap(forged->header, FORGED_MODULE);
}

/* Makes room for `size` bytes that begin with .eh_frame_hdr; the caller fills it. */
static inline uint8_t *forged_begin(struct forged *forged, size_t size)
{
  size = size < FORGED_SEGMENT ? size : FORGED_SEGMENT;
  uint8_t *at = forged->segment + FORGED_SEGMENT - size;
  Elf64_Ehdr elf = {.e_phoff = sizeof elf, .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 2};
  Elf64_Phdr phdrs[2] = {{.p_type = PT_LOAD, .p_flags = PF_R}, {.p_type = PT_GNU_EH_FRAME, .p_flags = PF_R}};
  memcpy(elf.e_ident, ELFMAG, SELFMAG);
  phdrs[0].p_vaddr = phdrs[1].p_vaddr = (uintptr_t)at - forged->module.start;
  phdrs[0].p_filesz = phdrs[0].p_memsz = size;
  memcpy(forged->header, &elf, sizeof elf);
  memcpy(forged->header + sizeof elf, phdrs, sizeof phdrs);
  forged->module.eh_frame_hdr = (uintptr_t)at;
  return at;
}

enum { FORGED_FUNCTION = 0x1000, FORGED_FUNCTION_BYTES = 0x10000, FORGED_HEADER = 20 };
/* CFA = sp + 8, pc saved at CFA - 8. With a link register: CFA = sp, and two instructions that do nothing. */
static const uint8_t forged_call[] = {0x0c, HWI_REG_SP, HWI_ARCH_HAS_LINK ? 0 : 8,
                                      HWI_ARCH_HAS_LINK ? 0 : 0x80 | HWI_REG_RA, HWI_ARCH_HAS_LINK ? 0 : 1};

static inline uint8_t *forged_put(uint8_t *at, const void *bytes, size_t size)
{
  memcpy(at, bytes, size);
  return at + size;
}

static inline uint8_t *forged_put_word(uint8_t *at, uint32_t word)
{
  return forged_put(at, &word, sizeof word);
}

/* Writes a header with a table of one entry, a CIE of ordinary calls, and an FDE with these instructions, which end the
 * segment. `letters` is the augmentation, "zR" or more. The function's address is FORGED_FUNCTION. */
static inline void forged_function(struct forged *forged, const char *letters, const uint8_t *code, size_t size)
{
  enum { CIE_FIXED = 4 + 4 + 1 + 3 + 2 };
  size_t letters_bytes = strlen(letters) + 1, cie = CIE_FIXED + letters_bytes + sizeof forged_call;
  size_t room = FORGED_SEGMENT - FORGED_HEADER - cie - 25;
  size = size < room ? size : room;
  size_t fde = 4 + 4 + 16 + 1 + size;
  uint8_t *start = forged_begin(forged, FORGED_HEADER + cie + fde), *at = start;
  at = forged_put(at, (const uint8_t[]){1, 0x1b, 0x03, 0x3b}, 4);
  at = forged_put_word(at, FORGED_HEADER - 4); /* .eh_frame, relative to here */
  at = forged_put_word(at, 1);
  at = forged_put_word(at, (uint32_t)(FORGED_FUNCTION - (uintptr_t)start)); /* near forged_start, in 4 bytes */
  at = forged_put_word(at, (uint32_t)(FORGED_HEADER + cie));
  at = forged_put_word(at, (uint32_t)(cie - 4));
  at = forged_put_word(at, 0);
  *at++ = 1;
  at = forged_put(at, letters, letters_bytes);
  at = forged_put(at, (const uint8_t[]){1, 0x78, HWI_REG_LINK}, 3); /* code factor 1, data factor -8 */
  at = forged_put(at, (const uint8_t[]){1, 0x04}, 2);               /* FDEs have 8-byte addresses */
  at = forged_put(at, forged_call, sizeof forged_call);
  at = forged_put_word(at, (uint32_t)(fde - 4));
  at = forged_put_word(at, (uint32_t)(cie + 4));
  uint64_t range[2] = {(uintptr_t)start + (uint64_t)(int64_t)(int32_t)(FORGED_FUNCTION - (uintptr_t)start),
                       FORGED_FUNCTION_BYTES};
  at = forged_put(at, range, sizeof range);
  *at++ = 0;
  forged_put(at, code, size);
}

/* The address at which forged_function put the function. */
static inline uintptr_t forged_start(const struct forged *forged)
{
  uintptr_t header = forged->module.eh_frame_hdr;
  return header + (uint64_t)(int64_t)(int32_t)(FORGED_FUNCTION - header);
}

/* Made-up memory, in which some words cannot be read. */
static inline bool forged_load(void *context, uintptr_t address, uintptr_t *word)
{
  (void)context;
  *word = address * UINT64_C(0x9e3779b97f4a7c15);
  return *word >> 61 != 0;
}

/* Reads the module's CFI at pc in both ways. */
static inline void forged_read(const struct forged *forged, uintptr_t pc)
{
  struct hwi_registers registers = {.known = hwi_register_bit(HWI_REG_COUNT) - 1};
  bool is_signal_frame;
  for (uint32_t i = 0; i < HWI_REG_COUNT; i++)
    registers.value[i] = UINT64_C(0x7ffc00000000) + 64 * i;
  struct hwi_frame_row row = hwi_cfi_row(&forged->module, pc, NULL);
  enum hwi_step step =
      hwi_cfi_step(&forged->module, pc, &registers, &(struct hwi_cfi_memory){forged_load, NULL}, &is_signal_frame);
  if (row.kind > HWI_ROW_LINK_BP || (unsigned)step > HWI_STEP_BAD)
    abort();
}

#endif
