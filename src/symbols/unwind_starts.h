/* unwind_starts.h - where functions begin, by a module's unwind tables: what is left to tell the functions of a stripped file
 *
 * Compilers write an entry for every function, and the part of it that they moved away (.cold) is one of its own. Linkers
 * sort the entries in .eh_frame_hdr.
 */
#ifndef HWI_SYMBOLS_UNWIND_STARTS_H
#define HWI_SYMBOLS_UNWIND_STARTS_H

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

struct hwi_unwind_starts {
  const uint8_t
      *table; /* in the ELF file's own memory: pairs of 32-bit offsets from `base`, sorted by the first, which is
                           where a function begins; NULL: there is no such table */
  size_t count;
  uint64_t base;
  Dwarf_CFI *cfi; /* says how far the function goes */
};

/* The file must stay open as long as this. Without a usable table, nothing is found in it. To be closed. */
void hwi_unwind_starts_open(struct hwi_unwind_starts *starts, Elf *elf);

/* Where the function begins that covers `address`, which is one in the file, as the result is; 0: unknown. */
uint64_t hwi_unwind_starts_find(const struct hwi_unwind_starts *starts, uint64_t address);

void hwi_unwind_starts_close(struct hwi_unwind_starts *starts);

#endif
