/* scopes.h - the beginning and the end of scopes (heapwright/monitor.h) as events of their thread's stream
 *
 * All functions are async-signal-safe and do not change errno. A scope that cannot be recorded counts as a lost event.
 */
#ifndef HWI_RECORD_EVENTS_SCOPES_H
#define HWI_RECORD_EVENTS_SCOPES_H

#include <stdint.h>

#include "record/events/stream.h"
#include "trace/format.h"

/* Begins a scope of the calling thread. `op`: HW_SCOPE_BEGIN, HW_SCOPE_BEGIN_NUMBER or HW_SCOPE_BEGIN_FORBIDDEN, with
 * its value. Returns how many scopes of the thread are now open, or 0 if the scope is not recorded. */
uint32_t hwi_scope_begin(uint32_t name, enum hw_scope_op op, uint64_t value);

/* The same for an instance with a text. */
uint32_t hwi_scope_begin_text(uint32_t name, const char *text);

/* Ends the calling thread's scopes from the `depth`th on, which hwi_scope_begin returned; later calls do nothing. */
void hwi_scope_end(uint32_t depth);

/* Notes what is no scope: `op` is HW_SCOPE_MARK or HW_SCOPE_COUNTER, with its value. */
void hwi_scope_note(uint32_t name, enum hw_scope_op op, uint64_t value);

/* A thread begins in this image. After a fork, its open scopes are written again; else it has none. */
void hwi_scopes_continue(struct hwi_lane *lane, struct hwi_open_scopes *open, bool is_forked);

#endif
