/* scope_events.h - tells which scopes of a thread have begun or ended
 *
 * `told` has the time, the thread and the image. All functions return false if the sink wants no more events.
 */
#ifndef HWI_PROFILE_COUNTERS_SCOPE_EVENTS_H
#define HWI_PROFILE_COUNTERS_SCOPE_EVENTS_H

#include "profile/counters/scopes.h"

/* The thread is inside scopes from depth `before` on: each begins, in a task for this stay. */
bool hwi_scope_events_begun(const struct hwi_scopes *scopes, const struct hwi_block_sink *sink,
                            struct hwi_scope_event told, uint32_t before);

/* The thread was at depth `before`, until an event with the operation told.op. */
bool hwi_scope_events_since(const struct hwi_scopes *scopes, const struct hwi_block_sink *sink,
                            struct hwi_scope_event told, uint32_t before);

/* All scopes of the thread end, with its latest event. */
bool hwi_scope_events_end(const struct hwi_scopes *scopes, const struct hwi_block_sink *sink, uint32_t image,
                          uint32_t thread);

#endif
