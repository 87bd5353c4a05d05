/* unwind_starts.h - start addresses of functions from a module's unwind tables, to distinguish the functions of a
 * stripped file
 *
 * Compilers write an entry for every function, and a separate one for a part that they moved away (.cold). Linkers sort
 * the entries in .eh_frame_hdr.
 */
#ifndef HWI_SYMBOLS_UNWIND_STARTS_H
#define HWI_SYMBOLS_UNWIND_STARTS_H

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

struct hwi_unwind_starts {
  /* In the ELF file's own memory: pairs of 32-bit offsets from `base`, sorted by the first one, which is the start of a
   * function. NULL: there is no usable table */
  const uint8_t *table;
  size_t count;
  uint64_t base;
  Dwarf_CFI *cfi; /* has the ends of functions */
};

/* The file must stay open as long as `starts`. Without a usable table, no function is found. The caller closes it. */
void hwi_unwind_starts_open(struct hwi_unwind_starts *starts, Elf *elf);

/* Returns the start of the function that covers `address`, or 0 if it is unknown; both are addresses in the file. */
uint64_t hwi_unwind_starts_find(const struct hwi_unwind_starts *starts, uint64_t address);

void hwi_unwind_starts_close(struct hwi_unwind_starts *starts);

#endif
