/* die_name.h - the name of a function in debug information, as in the source */
#ifndef HWI_SYMBOLS_DIE_NAME_H
#define HWI_SYMBOLS_DIE_NAME_H

#include <elfutils/libdw.h>

/* `die` is a subprogram or an inlined one. Returns its demangled linkage name, or else its name with the names of its
 * enclosing scopes. The caller frees it. Returns NULL if there is no name or no memory. */
char *hwi_die_name(Dwarf_Die *die);

#endif
