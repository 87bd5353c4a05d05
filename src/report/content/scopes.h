/* scopes.h - what was allocated and freed in the scopes that the program marked (heapwright/monitor.h)
 *
 * path    a scope and the scopes around it; see profile.h.
 * self    in the path's own scope, without the scopes inside it.
 * all     with the scopes inside it.
 * net     what was allocated in the scope less what was freed in it, whosever blocks those were.
 */
#ifndef HWI_REPORT_CONTENT_SCOPES_H
#define HWI_REPORT_CONTENT_SCOPES_H

#include "report/selection/selection.h"

struct hwi_scope_sum {
  struct hwi_amount amount; /* of the blocks that were allocated there, and that a filter keeps */
  uint64_t free_calls, failed_calls, duration_ns;
  uint64_t net_blocks, net_bytes; /* modulo 2^64 */
};

struct hwi_scope_row {
  struct hwi_scope_sum self, all;
};

/* Of struct hwi_scope; of struct hwi_scope_sum; the same with keys that say that they are of `self`. */
extern const struct hwi_figure hwi_scope_figures[], hwi_scope_sum_figures[], hwi_scope_self_figures[];

/* Returns the figures by path: [1, scope_count) of the profile. With a filter, the amounts are those that it keeps; frees
 * and net are of all blocks. The caller frees them. Returns NULL if there is no memory. */
struct hwi_scope_row *hwi_scope_rows(const struct hwi_profile *profile, const struct hwi_narrowing *filter);

extern const char *const hwi_instances_names[]; /* by enum hwi_instance_order; ended by NULL */

/* Returns the measure by which the options rank instances; a figure that instances do not have is their calls. */
enum hwi_instance_measure hwi_scope_measure(const struct hwi_report_options *options, enum hwi_cost cost);

/* Returns what the scopes inside the instance allocated less what they freed. The instance has details. */
static inline int64_t hwi_instance_inside_bytes(const struct hwi_instance *instance)
{
  return (int64_t)((uint64_t)instance->net_bytes - (uint64_t)instance->detail->self_bytes);
}

/* Adds "frame > decode", with the names as the program gave them. */
void hwi_scope_path_add(struct hwi_line *line, const struct hwi_profile *profile, uint32_t path);

/* Returns the names of the path's scopes, as many as its depth, the outermost first. The caller frees the list. Returns
 * NULL if there is no memory. */
const char **hwi_scope_names(const struct hwi_profile *profile, uint32_t path);

#endif
