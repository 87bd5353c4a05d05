/* debug_info.h - the debug information of a module, for those that read more of it than names and lines */
#ifndef HWI_SYMBOLS_DEBUG_INFO_H
#define HWI_SYMBOLS_DEBUG_INFO_H

#include <elfutils/libdw.h>

#include "symbols/symbols.h"

/* Returns the debug information of the module, from its own file or a separate one, or NULL. *dir is then the folder of that file, or
 * NULL. Both are owned by the symbolizer, and valid until it is destroyed. */
Dwarf *hwi_symbols_debug_info(struct hwi_symbols *symbols, const struct hwi_symbol_module *module, const char **dir);

/* Gets the function with the code at an address in the module's file. Returns false if there is none in the debug information. */
bool hwi_symbols_function_die(struct hwi_symbols *symbols, const struct hwi_symbol_module *module, uint64_t address,
                              Dwarf_Die *function);

#endif
