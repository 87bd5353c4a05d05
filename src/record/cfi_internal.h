/* cfi_internal.h - what the parts of the CFI reader share
 *
 * span       the readable bytes that .eh_frame_hdr and .eh_frame lie in; nothing outside of it is ever read.
 * cursor     a place in those bytes and the end of the piece being read. Once a read did not fit, it stays `bad` and gives 0.
 * FDE        what .eh_frame says of one function; here together with what it needs of its CIE (the part that FDEs share).
 * rules      how to get at the CFA and at each register of the caller, at one address.
 */
#ifndef HWI_RECORD_CFI_INTERNAL_H
#define HWI_RECORD_CFI_INTERNAL_H

#include <string.h>

#include "record/cfi.h"

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
  uintptr_t data_base; /* what DW_EH_PE_datarel counts from */
  uint8_t encoding;    /* DW_EH_PE_* of code addresses */
  bool augmented;      /* the FDE has augmentation data */
  bool signal; /* frames of this code were made by the kernel: the pc in them was interrupted, it did not call */
};

enum hwi_rule {
  HWI_RULE_UNSET = 0, /* as the ABI has it: see hwi_rules_apply */
  HWI_RULE_UNDEFINED,
  HWI_RULE_SAME,
  HWI_RULE_OFFSET,           /* saved at CFA + value */
  HWI_RULE_VALUE_OFFSET,     /* is CFA + value */
  HWI_RULE_REGISTER,         /* is in register `value` */
  HWI_RULE_EXPRESSION,       /* saved where the expression says */
  HWI_RULE_VALUE_EXPRESSION, /* is what the expression says */
};

enum hwi_cfa { HWI_CFA_UNSET = 0, HWI_CFA_REGISTER, HWI_CFA_EXPRESSION };

/* 4 bytes a value keep the stack of remembered rules small. The place of an expression is that of its length, in bytes from
 * span.low. */
struct hwi_rules {
  int32_t value[HWI_REG_COUNT];
  int32_t cfa_value;           /* offset, or place of an expression */
  uint8_t rule[HWI_REG_COUNT]; /* enum hwi_rule */
  uint8_t cfa;                 /* enum hwi_cfa */
  uint8_t cfa_register;        /* below HWI_REG_RA */
};

/* What expressions work on. */
struct hwi_machine {
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
  memcpy(&value, cursor->at, count); /* little-endian, as everything that this reads */
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

/* LEB128, unsigned and signed, at most 10 bytes; bits above 64 are lost. 0, with the cursor bad, where it has no end. */
uint64_t hwi_cfi_cursor_uleb_long(struct hwi_cfi_cursor *cursor);
int64_t hwi_cfi_cursor_sleb(struct hwi_cfi_cursor *cursor);

static inline uint64_t hwi_cfi_cursor_uleb(struct hwi_cfi_cursor *cursor)
{
  if (cursor->at < cursor->end && *cursor->at < 0x80)
    return *cursor->at++;
  return hwi_cfi_cursor_uleb_long(cursor);
}

/* A pointer in one of the DW_EH_PE_* encodings; bad for those that need an indirection or a base that is not known. */
uintptr_t hwi_cfi_cursor_pointer(struct hwi_cfi_cursor *cursor, uint8_t encoding, uintptr_t data_base);

/* The FDE that covers pc. False: there is none, or what would lead to it is damaged. */
bool hwi_fde_find(const struct hwi_cfi_module *module, uintptr_t pc, struct hwi_fde *fde);

/* The rules that hold at pc, which the FDE covers. False: its instructions are damaged, or nest deeper than this goes. `cache`:
 * see hwi_cfi_row. */
bool hwi_rules_at(const struct hwi_fde *fde, uintptr_t pc, struct hwi_cfi_cache *cache, struct hwi_rules *rules);

/* The value of the expression at `place`, computed with `initial` on the stack where it is not NULL. False: damaged, endless,
 * a register that is not known, or a load that was refused. */
bool hwi_expression_value(const struct hwi_machine *machine, struct hwi_cfi_span span, int32_t place,
                          const uintptr_t *initial, uintptr_t *value);

/* The instructions of the expression at `place`. */
struct hwi_cfi_cursor hwi_expression_at(struct hwi_cfi_span span, int32_t place);

/* Replaces *registers by the caller's, as hwi_cfi_step. */
enum hwi_step hwi_rules_apply(const struct hwi_rules *rules, struct hwi_cfi_span span, struct hwi_registers *registers,
                              const struct hwi_cfi_memory *memory);

#endif
