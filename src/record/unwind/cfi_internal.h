/* cfi_internal.h - declarations that the parts of the CFI reader share
 *
 * span       the readable bytes that contain .eh_frame_hdr and .eh_frame; nothing outside of it is ever read.
 * cursor     an address in those bytes and the end of the part being read. After a read past the end it stays `bad` and
 *            returns 0.
 * FDE        the entry of one function in .eh_frame, here with the needed fields of its CIE (the part that FDEs share).
 * rules      how to compute the CFA and each register of the caller, at one address.
 */
#ifndef HWI_RECORD_UNWIND_CFI_INTERNAL_H
#define HWI_RECORD_UNWIND_CFI_INTERNAL_H

#include <string.h>

#include "record/unwind/cfi.h"

struct hwi_cfi_span {
  uintptr_t low, high;
};

struct hwi_cfi_cursor {
  const uint8_t *at, *end;
  bool bad;
};

struct hwi_fde {
  struct hwi_cfi_span span;
  uintptr_t start, end;           /* of the code that it covers */
  struct hwi_cfi_cursor cie_code; /* instructions that come first, for every FDE of the CIE */
  struct hwi_cfi_cursor code;
  uintptr_t cie; /* address of the CIE that these were read from; 0: none yet */
  uint64_t code_align;
  int64_t data_align;
  uintptr_t data_base; /* the base of DW_EH_PE_datarel */
  uint8_t encoding;    /* DW_EH_PE_* of code addresses */
  bool augmented;      /* the FDE has augmentation data */
  int32_t
      registers_off; /* of a signal frame: from its sp to the registers; 0: the rules have the places of the registers */
  bool signal; /* signal frame, made by the kernel: its caller's pc was interrupted, and is not a return address */
};

enum hwi_cfi_rule {
  HWI_CFI_UNSET = 0, /* the ABI's default: see hwi_cfi_rules_apply */
  HWI_CFI_UNDEFINED,
  HWI_CFI_SAME,
  HWI_CFI_OFFSET,           /* saved at CFA + value */
  HWI_CFI_VALUE_OFFSET,     /* is CFA + value */
  HWI_CFI_REGISTER,         /* is in register `value` */
  HWI_CFI_EXPRESSION,       /* saved at the expression's value */
  HWI_CFI_VALUE_EXPRESSION, /* is the expression's value */
};

enum hwi_cfa { HWI_CFA_UNSET = 0, HWI_CFA_REGISTER, HWI_CFA_EXPRESSION };

/* 4 bytes per value keep the stack of remembered rules small. The place of an expression is the offset of its length
 * field from span.low, in bytes. */
struct hwi_cfi_rules {
  int32_t value[HWI_REG_COUNT];
  int32_t cfa_value;           /* offset, or place of an expression */
  uint8_t rule[HWI_REG_COUNT]; /* enum hwi_cfi_rule */
  uint8_t cfa;                 /* enum hwi_cfa */
  uint8_t cfa_register;        /* below HWI_REG_RA */
};

/* The input of expressions. */
struct hwi_cfi_machine {
  const struct hwi_registers *registers;
  hwi_load_fn *load;
  void *context;
};

static inline uint64_t hwi_cfi_cursor_bytes(struct hwi_cfi_cursor *cursor, size_t count)
{
  uint64_t value = 0;
  if ((size_t)(cursor->end - cursor->at) < count) {
    cursor->bad = true;
    return 0;
  }
  memcpy(&value, cursor->at, count); /* little-endian, as all data read here */
  cursor->at += count;
  return value;
}

static inline int64_t hwi_cfi_cursor_signed_bytes(struct hwi_cfi_cursor *cursor, size_t count)
{
  unsigned spare = 64 - 8 * (unsigned)count;
  return (int64_t)(hwi_cfi_cursor_bytes(cursor, count) << spare) >> spare;
}

static inline void hwi_cfi_cursor_skip(struct hwi_cfi_cursor *cursor, uint64_t count)
{
  if ((uint64_t)(cursor->end - cursor->at) < count)
    cursor->bad = true;
  else
    cursor->at += count;
}

/* Read LEB128, unsigned and signed, at most 10 bytes; bits above 64 are lost. Return 0, with the cursor bad, if it does
 * not end. */
uint64_t hwi_cfi_cursor_uleb_long(struct hwi_cfi_cursor *cursor);
int64_t hwi_cfi_cursor_sleb(struct hwi_cfi_cursor *cursor);

static inline uint64_t hwi_cfi_cursor_uleb(struct hwi_cfi_cursor *cursor)
{
  if (cursor->at < cursor->end && *cursor->at < 0x80)
    return *cursor->at++;
  return hwi_cfi_cursor_uleb_long(cursor);
}

/* Reads a pointer in one of the DW_EH_PE_* encodings. The cursor becomes bad if the encoding needs an indirection or an
 * unknown base. */
uintptr_t hwi_cfi_cursor_pointer(struct hwi_cfi_cursor *cursor, uint8_t encoding, uintptr_t data_base);

static inline bool hwi_cfi_span_has(struct hwi_cfi_span span, uintptr_t address, uintptr_t bytes)
{
  return address >= span.low && address <= span.high && span.high - address >= bytes;
}

/* Finds the bytes of the module around an address that are certainly mapped and readable. module->eh_frame_hdr is the start of the
 * segment with the PT_* `type`. */
bool hwi_cfi_span_find(const struct hwi_cfi_module *module, uint32_t type, uintptr_t address,
                       struct hwi_cfi_span *span);

/* What the ELF header states of a module with such a segment. */
struct hwi_cfi_tables {
  uintptr_t bytes; /* size of the segment */
  uintptr_t entry; /* where the module starts if it is a program; 0: nowhere */
};
bool hwi_cfi_tables_find(const struct hwi_cfi_module *module, uint32_t type, struct hwi_cfi_tables *tables);

/* Finds the FDE that covers pc. Returns false if there is none, or if the tables that lead to it are damaged. */
bool hwi_fde_find(const struct hwi_cfi_module *module, uintptr_t pc, struct hwi_fde *fde);

/* Computes the rules at pc, which the FDE covers. Returns false if its instructions are damaged, or nested too deeply.
 * `cache`: see hwi_cfi_row. */
bool hwi_cfi_rules_at(const struct hwi_fde *fde, uintptr_t pc, struct hwi_cfi_cache *cache,
                      struct hwi_cfi_rules *rules);

/* Computes the expression at `place`, with *initial on the stack unless `initial` is NULL. Returns false if it is
 * damaged or endless, needs an unknown register, or a load was refused. */
bool hwi_expression_value(const struct hwi_cfi_machine *machine, struct hwi_cfi_span span, int32_t place,
                          const uintptr_t *initial, uintptr_t *value);

/* Returns the instructions of the expression at `place`. */
struct hwi_cfi_cursor hwi_expression_at(struct hwi_cfi_span span, int32_t place);

/* Replaces *registers by the caller's, as hwi_cfi_step does. */
enum hwi_step hwi_cfi_rules_apply(const struct hwi_cfi_rules *rules, struct hwi_cfi_span span,
                                  struct hwi_registers *registers, const struct hwi_cfi_memory *memory);

#endif
