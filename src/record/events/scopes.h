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
 * its value. Returns a handle of the scope, or 0 if it is not recorded. */
uint64_t hwi_scope_begin(uint32_t name, enum hw_scope_op op, uint64_t value);

/* The same for an instance with a text. */
uint64_t hwi_scope_begin_text(uint32_t name, const char *text);

/* Ends the scope that one of these functions returned, with the scopes inside. Does nothing if it has ended, or if it is
 * of another thread or of a task that the thread is not in. */
void hwi_scope_end(uint64_t scope);

/* The same for a caller that has entered the calling thread's lane; the depth includes the scopes around the task. */
uint32_t hwi_scope_put_begin(struct hwi_lane *lane, uint64_t tick, uint32_t name, enum hw_scope_op op, uint64_t value);
void hwi_scope_put_end(struct hwi_lane *lane, uint64_t tick, uint32_t depth);

/* Writes one SCOPE event for such a caller. Returns false if it is lost. */
bool hwi_scope_put(struct hwi_lane *lane, uint64_t tick, enum hw_scope_op op, uint64_t name, uint64_t value);

/* The same for an event that names a scope or a task. */
bool hwi_scope_put_named(struct hwi_lane *lane, uint64_t tick, enum hw_scope_op op, uint32_t name, uint64_t value);

/* To be called when a trap_depth of the thread has changed: makes its calls trap if there is one, here or around. */
void hwi_scope_update_trap(void);

/* A key (struct hwi_open_scopes) of a scope that has ended, and waits for the end of the scopes inside, or for the next call
 * of its thread. */
enum { HWI_SCOPE_HAS_ENDED = 1 };

/* Returns whether the innermost scope is such a one. */
static inline bool hwi_scope_has_ended(const struct hwi_open_scopes *open)
{
  return open->depth > open->base && open->depth <= HWI_OPEN_SCOPES &&
         atomic_load_explicit(&open->keys[open->depth - 1], memory_order_relaxed) == HWI_SCOPE_HAS_ENDED;
}

/* Notes what is no scope: `op` is HW_SCOPE_MARK or HW_SCOPE_COUNTER, with its value. */
void hwi_scope_note(uint32_t name, enum hw_scope_op op, uint64_t value);

/* A thread begins in this image. After a fork, its open scopes are written again; else it has none. */
void hwi_scopes_continue(struct hwi_lane *lane, struct hwi_open_scopes *open, bool is_forked);

#endif
