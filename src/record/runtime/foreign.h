/* foreign.h - allocators whose calls the recorder cannot see completely */
#ifndef HWI_RECORD_RUNTIME_FOREIGN_H
#define HWI_RECORD_RUNTIME_FOREIGN_H

#include "trace/format.h"

/* Calls `found` once for each note that the trace should contain. Notes are for a module that defines malloc or
 * operator new before this library in the search order and is not redirected, or replaces it under valgrind, and for the next one after this
 * library, unless that is the C library. `module` is the loader's name of it, "" for the executable, and valid during
 * the call. To be called once the program's libraries are relocated. Calls the loader, but leaves no text for
 * dlerror. */
void hwi_foreign_find(void (*found)(enum hw_note note, const char *module));

#endif
