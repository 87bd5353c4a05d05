/* redirect.h - leads the calls of allocators that programs have linked in to the recorder */
#ifndef HWI_RECORD_RUNTIME_REDIRECT_H
#define HWI_RECORD_RUNTIME_REDIRECT_H

#include <stdbool.h>

#include "trace/format.h"

/* Finds these allocators in the loaded modules, and redirects their functions (redirected.h) if that is allowed. Calls `found` for each one, with
 * HW_NOTE_REDIRECTED or HW_NOTE_NOT_REDIRECTED and its text, which is valid during the call. To be called once, when
 * the loader is idle and no other thread runs yet. The real functions must be found again after it. */
void hwi_redirect_all(bool is_allowed, void (*found)(enum hw_note note, const char *text));

#endif
