/* cfi.h - call frame information: how one frame leads to its caller
 *
 * row       how to unwind the frame of one machine address, in a compact form; sufficient for nearly all code.
 * rules     all that CFI defines at an address: one rule for the CFA and one for each callee-saved register. A row is a
 *           short form of the rules. If there is no short form, the row is HWI_ROW_FULL and the interpreter takes the
 *           step.
 * step      from a frame's registers to its caller's.
 *
 * Everything here is async-signal-safe, takes no lock, allocates nothing, uses little stack (2 KiB on x86-64), and does a
 * bounded number of steps. Stack words are read through the caller's loader function, which refuses addresses that are
 * not known to be readable. Only two parts of the module are read: its first page (ELF and program headers), and the
 * readable PT_LOAD that contains .eh_frame_hdr, as far as the file backs it. Between segments there may be holes that
 * fault. So .eh_frame must be in the same segment, where linkers put it, and the program headers in the first page;
 * otherwise there is no CFI.
 *
 * 32-bit Arm has other tables, .ARM.exidx and .ARM.extab, which cfi_exidx.c reads as if they were CFI.
 */
#ifndef HWI_RECORD_UNWIND_CFI_H
#define HWI_RECORD_UNWIND_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "platform/arch.h"

/* Registers that an unwinder must track, by DWARF's numbers (HWI_REG_*, arch.h). HWI_REG_LINK is the one whose rule gives the return
 * address. On CPUs that have a link register it is that one; on others it is HWI_REG_RA. */
struct hwi_registers {
  uintptr_t value[HWI_REG_COUNT]; /* value[HWI_REG_RA] is the pc of the frame */
  uint64_t known;                 /* bit i: value[i] is known */
};

static inline uint64_t hwi_register_bit(uint32_t which)
{
  return UINT64_C(1) << which;
}

/* Loads the word at `address` into *word. Returns false if the address is not known to be readable. */
typedef bool hwi_load_fn(void *context, uintptr_t address, uintptr_t *word);

/* How to read memory while steps are taken. */
struct hwi_cfi_memory {
  hwi_load_fn *load;
  void *context; /* of `load` */
};

/* The part of a module that CFI needs. */
struct hwi_cfi_module {
  uintptr_t start, end;   /* its range, with the ELF header at the start; readable where its phdrs say so */
  uintptr_t eh_frame_hdr; /* address of the PT_GNU_EH_FRAME segment, on 32-bit Arm of PT_ARM_EXIDX; 0: none */
};

enum hwi_row_kind {
  HWI_ROW_NONE = 0,      /* no CFI covers the address */
  HWI_ROW_SP = 1,        /* CFA = sp + offset */
  HWI_ROW_BP = 2,        /* CFA = bp + offset */
  HWI_ROW_SP_DEREF = 3,  /* CFA = word at sp + offset */
  HWI_ROW_BP_DEREF = 4,  /* realigned: CFA = word at bp + offset; the caller's bp is the word at bp + 8 * bp_words */
  HWI_ROW_SIGNAL = 5,    /* signal frame: pc, sp, bp are in the ucontext; offset = from sp to its gregs */
  HWI_ROW_OUTERMOST = 6, /* the return address is undefined: the stack ends here */
  HWI_ROW_FULL = 7,      /* only hwi_cfi_step can take the step */
  HWI_ROW_LINK = 8, /* CFA = sp + offset; the return address is in the link register, which only signal frames give */
  HWI_ROW_LINK_BP = 9, /* the same, with CFA = bp + offset */
};

struct hwi_frame_row {
  uint8_t kind;    /* enum hwi_row_kind */
  int8_t bp_words; /* from the end of the return address to the caller's bp; 0: not saved. But see BP_DEREF */
  int32_t offset;  /* see the kinds */
  struct hwi_arch_return_slot
      return_slot; /* where the return address is, seen from the CFA; LINK: as if it followed the frame */
};
/* In all kinds except SIGNAL, OUTERMOST, FULL and NONE, the caller's sp is the CFA. On x86-64 the return address ends there. */

/* A cache for the CFI of some functions: the address up to which it was executed, and the rules at that address. The
 * look-up of a later address of the same function continues there instead of starting again. A function with a thousand
 * calls has a thousand return addresses, and without the cache each would execute half of a long CFI on average. */
struct hwi_cfi_cache;
enum { HWI_CFI_CACHE_BYTES = 4096 };

/* Must be called when a module was loaded or unloaded: other code may be at these addresses. */
void hwi_cfi_cache_clear(struct hwi_cfi_cache *cache);

/* Returns the row for the code at `pc`. `pc` is an address *inside* the instruction of interest: the caller subtracts
 * one from a return address, but not from the pc of code that a signal interrupted. Never fails; returns HWI_ROW_NONE
 * if no CFI covers pc or the CFI is damaged. `cache`: HWI_CFI_CACHE_BYTES bytes, zero at first, used by one thread
 * only; NULL: no cache. */
struct hwi_frame_row hwi_cfi_row(const struct hwi_cfi_module *module, uintptr_t pc, struct hwi_cfi_cache *cache);

enum hwi_step {
  HWI_STEP_OK = 0,
  HWI_STEP_OUTERMOST = 1, /* the return address is undefined */
  HWI_STEP_NO_CFI = 2,
  HWI_STEP_BAD = 3, /* damaged CFI, an unknown register, or a load that was refused */
};

/* Replaces *registers (of a frame whose pc is in `module`) by its caller's. `pc` as in hwi_cfi_row. On success,
 * *signal_frame is whether the frame was a signal frame, so that one must not be subtracted from the new pc. */
enum hwi_step hwi_cfi_step(const struct hwi_cfi_module *module, uintptr_t pc, struct hwi_registers *registers,
                           const struct hwi_cfi_memory *memory, bool *signal_frame);

#endif
