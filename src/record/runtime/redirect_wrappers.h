/* redirect_wrappers.h - what the calls of a redirected function lead to: each calls the original and reports to the recorder */
#ifndef HWI_RECORD_RUNTIME_REDIRECT_WRAPPERS_H
#define HWI_RECORD_RUNTIME_REDIRECT_WRAPPERS_H

#include "record/runtime/real.h"
#include "record/runtime/redirected.h"

/* Returns the wrapper for a function of this role. It gets the function's arguments, and after HWI_CODE_ARGUMENTS of them the
 * struct hwi_redirected. */
hwi_function *hwi_redirect_wrapper(enum hwi_role role);

/* The allocator is the one below the recorder, too: its functions take the place of the real ones. `next` are the real functions,
 * which may be functions that are redirected; redirected.h has these. */
void hwi_redirect_replace(hwi_function *next[HW_ENTRY_COUNT]);

#endif
