/* module_file.h - all files that tell about one module: its own, its debug file, and what they hold packed or elsewhere */
#ifndef HWI_SYMBOLS_MODULE_FILE_H
#define HWI_SYMBOLS_MODULE_FILE_H

#include <elfutils/libdw.h>

#include "symbols/debug_file.h"
#include "symbols/elf_names.h"
#include "symbols/unwind_starts.h"

struct hwi_module_file {
  struct hwi_elf_file own, debug, packed, alternate; /* each open or not */
  Dwarf *dwarf;                                      /* of own or debug; NULL: no debug information */
  Dwarf *alternate_dwarf;
  struct hwi_elf_names names;
  struct hwi_unwind_starts starts; /* opened when first asked for */
  bool has_starts;
  uint64_t mark;                 /* see hwi_module_file_mark */
  enum hwi_symbol_reason reason; /* why nothing is known about addresses that have no symbol */
};

/* Opens what there is. Never fails: `reason` says what is missing. To be closed. */
void hwi_module_file_open(struct hwi_module_file *file, const struct hwi_symbol_module *module,
                          const struct hwi_debug_dirs *dirs);

/* A number that changes when the files that hwi_module_file_open would open change, or others take their place. 0: there are none,
 * or not all of them can be told. Opens them, and reads next to nothing. */
uint64_t hwi_module_file_mark(const struct hwi_symbol_module *module, const struct hwi_debug_dirs *dirs);

/* The file that holds the debug information, or NULL. */
const struct hwi_elf_file *hwi_module_file_with_dwarf(const struct hwi_module_file *file);

/* Where the function begins that covers `address`, both in the file; 0: unknown. */
uint64_t hwi_module_file_function_start(struct hwi_module_file *file, uint64_t address);

void hwi_module_file_close(struct hwi_module_file *file);

#endif
