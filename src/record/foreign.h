/* foreign.h - allocators whose calls the recorder cannot see, or not all of them */
#ifndef HWI_RECORD_FOREIGN_H
#define HWI_RECORD_FOREIGN_H

#include "trace/format.h"

/* Calls `found` once for each note that the trace should carry: a module that defines malloc or operator new ahead of this
 * library, or in its place under valgrind, and the one behind it, where that is not the C library. `module` is as the loader
 * names it, "" for the executable, and valid during the call. To be called once the program's libraries are relocated; asks the
 * loader, leaves no text for dlerror. */
void hwi_foreign_find(void (*found)(enum hw_note note, const char *module));

#endif
