/* own_ranges.h - what the recorder has in memory, for tools that read it: see base/own_memory.h
 *
 * Async-signal-safe. If the list is full, or there is no memory for it, tools may miss leaks; nothing else depends on it.
 */
#ifndef HWI_RECORD_OWN_RANGES_H
#define HWI_RECORD_OWN_RANGES_H

#include <stddef.h>

#include "base/own_memory.h"

extern struct hwi_own_memory hwi_own_memory;

/* Lists a mapping that stays. `old`: a listed one that it replaces, and that is about to be unmapped; NULL: none. */
void hwi_own_ranges_add(const void *start, size_t bytes, const void *old);

#endif
