/* open_scopes.h - the scopes that threads are in while events are taken in order, and what was done in each
 *
 * Only open scopes are held, so that the memory does not depend on the number of instances.
 * net    the blocks or bytes that the thread allocated less those that it freed, whosever blocks those were.
 * self   in the scope itself, without the scopes inside it.
 */
#ifndef HWI_EXPORT_OPEN_SCOPES_H
#define HWI_EXPORT_OPEN_SCOPES_H

#include "export/size_counts.h"
#include "profile/profile.h"

struct hwi_open_scope {
  struct hwi_size_counts sizes;     /* self, net; a size may have the count 0 */
  int64_t self_bytes, inside_bytes; /* net; inside: of the scopes inside that have ended */
  uint64_t value;                   /* of its begin */
  char *text;                       /* of its begin; NULL: none, or not kept */
  uint32_t path;
  uint8_t op; /* enum hw_scope_op of its begin: what `value` is */
};

/* All zero: no scope is open. */
struct hwi_open_scopes {
  struct hwi_open_thread {
    struct hwi_open_scope *items; /* the outermost first */
    size_t count, capacity;
  } * threads;
  size_t thread_count, thread_capacity;
};

/* Begins a scope, with a copy of its text if that is to be kept. Returns false if there is no memory. */
bool hwi_open_scopes_begin(struct hwi_open_scopes *scopes, const struct hwi_scope_event *event, bool keep_text);

/* Ends the thread's innermost scope, which the caller releases. Returns false if it has none. */
bool hwi_open_scopes_end(struct hwi_open_scopes *scopes, uint32_t thread, struct hwi_open_scope *ended);
void hwi_open_scope_release(struct hwi_open_scope *scope);

/* Counts the event's block for the scope that the event's thread is in. Returns false if there is no memory. */
bool hwi_open_scopes_count(struct hwi_open_scopes *scopes, const struct hwi_block_event *event);

/* Restarts counting. The scopes stay open. */
void hwi_open_scopes_restart(struct hwi_open_scopes *scopes);

void hwi_open_scopes_release(struct hwi_open_scopes *scopes);

#endif
