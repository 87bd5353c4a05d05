/* die_name.h - the name of a function in debug information, as its user would write it */
#ifndef HWI_SYMBOLS_DIE_NAME_H
#define HWI_SYMBOLS_DIE_NAME_H

#include <elfutils/libdw.h>

/* `die` is a subprogram or an inlined one. Its linkage name demangled, else its name with the names of the scopes around
 * it. The caller frees it. NULL: no name, or no memory. */
char *hwi_die_name(Dwarf_Die *die);

#endif
