/* keyed_scopes.h - scopes whose ends do not say how deep they are: they find them by a key
 *
 * All functions are async-signal-safe, do not change errno, and no thread waits for another one.
 */
#ifndef HWI_RECORD_COLLECTORS_KEYED_SCOPES_H
#define HWI_RECORD_COLLECTORS_KEYED_SCOPES_H

#include <stdint.h>

#include "trace/format.h"

/* A key with this bit is of a loose scope. It may end while scopes inside are open: it then ends with the last of
 * these. And it may end in another thread: the thread that began it ends it at its next call of these functions. */
enum { HWI_KEY_IS_LOOSE = 1 };

/* Instead of a level: there is no such scope, or it is not recorded. */
enum { HWI_LEVEL_NONE = -1, HWI_LEVEL_UNKNOWN = -2 };

/* Begins a scope of the calling thread. The key is not 0, and not the bit alone. Returns the scope's level: how many
 * scopes of the thread with this key are open around it. */
int hwi_keyed_scope_begin(uint32_t name, uint64_t key);

/* The same with a value (see scopes.h). */
int hwi_keyed_scope_begin_with(uint32_t name, uint64_t key, enum hw_scope_op op, uint64_t value);

/* Ends the innermost scope with this key, and returns its level. If the key is not loose, the scope is one of the calling
 * thread, and the scopes inside end with it; without such a scope, this does nothing. */
int hwi_keyed_scope_end(uint64_t key);

/* The same for a loose key, but only a scope of the calling thread ends. */
void hwi_keyed_scope_end_here(uint64_t key);

#endif
