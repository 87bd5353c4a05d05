/* module_file.h - all files with the symbols of a module: its own, its debug file, .gnu_debugdata and the alternate
 * file */
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
  struct hwi_elf_names variables, locals; /* read when first asked for */
  bool has_variables;
  struct hwi_unwind_starts starts; /* opened when first asked for */
  bool has_starts;
  uint64_t mark;                 /* see hwi_module_file_mark */
  enum hwi_symbol_reason reason; /* of addresses without a symbol */
};

/* Opens the files that exist. Never fails: `reason` says what is missing. The caller closes it. */
void hwi_module_file_open(struct hwi_module_file *file, const struct hwi_symbol_module *module,
                          const struct hwi_debug_dirs *dirs);

/* Returns a number that changes when the files that hwi_module_file_open would open change or are replaced by others.
 * Returns 0 if there are no files, or not all of them are known. Opens the files, but reads almost nothing. */
uint64_t hwi_module_file_mark(const struct hwi_symbol_module *module, const struct hwi_debug_dirs *dirs);

/* Returns the file with the debug information, or NULL. */
const struct hwi_elf_file *hwi_module_file_with_dwarf(const struct hwi_module_file *file);

/* Returns the start of the function that covers `address`, or 0 if it is unknown; both are addresses in the file. */
uint64_t hwi_module_file_function_start(struct hwi_module_file *file, uint64_t address);

/* Returns the symbol of the variable that covers `address`, an address in the file, or one in the storage of a thread, or NULL. */
struct hwi_elf_name *hwi_module_file_variable(struct hwi_module_file *file, enum hwi_elf_kind kind, uint64_t address);

void hwi_module_file_close(struct hwi_module_file *file);

#endif
