/* scope_slices.h - scopes as slices in Chrome's trace events, each with what was done in it by size
 *
 * A slice is two events, a begin and an end, so that they are written in the order of time and only open scopes are
 * held.
 */
#ifndef HWI_EXPORT_SCOPE_SLICES_H
#define HWI_EXPORT_SCOPE_SLICES_H

#include "export/open_scopes.h"
#include "report/json/json.h"
#include "report/selection/narrowing.h"

struct hwi_scope_slices {
  struct hwi_json *json;
  const struct hwi_profile *profile;
  const struct hwi_narrowing *narrowing; /* slices of paths that it does not keep are not written */
  struct hwi_open_scopes open;           /* the owner counts blocks in them, and releases them */
  bool begun;                            /* whether the span has begun: before, nothing is written */
  uint64_t from_ns;                      /* when it did */
};

/* Writes the begin or the ends of a scope event. Returns false if there is no memory. */
bool hwi_scope_slices_take(struct hwi_scope_slices *slices, const struct hwi_scope_event *event);

/* The span begins: begins the open scopes, with new counts. The span ends: ends them. */
void hwi_scope_slices_begin_span(struct hwi_scope_slices *slices, uint64_t ns);
void hwi_scope_slices_end_span(struct hwi_scope_slices *slices, uint64_t ns);

#endif
