/* foreign.h - allocators whose calls do not come to the recorder by themselves */
#ifndef HWI_RECORD_RUNTIME_FOREIGN_H
#define HWI_RECORD_RUNTIME_FOREIGN_H

#include <stdbool.h>

#include "trace/format.h"

/* Calls `found` once for each note that the trace should contain. Notes are for a module that defines malloc or
 * operator new before this library in the search order, or replaces it under valgrind, and for the next one after this
 * library, unless that is the C library. `text` is the loader's name of it, "" for the executable, and valid during
 * the call. With `redirects`, the calls of allocators that are linked in are led to the recorder (redirect.h), and there are
 * notes of these. To be called once the program's libraries are relocated. Calls the loader, but leaves no text for
 * dlerror. */
void hwi_foreign_find(bool redirects, void (*found)(enum hw_note note, const char *text));

#endif
