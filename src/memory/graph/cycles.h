/* cycles.h - leaks to which only leaks of the same cycle refer */
#ifndef HWI_MEMORY_GRAPH_CYCLES_H
#define HWI_MEMORY_GRAPH_CYCLES_H

#include "memory/graph/graph.h"

/* Of the leaks to which others refer and that no direct leak reaches, marks those that are in a cycle with
 * HWI_MARK_IN_CYCLE, and the others, which such a cycle reaches, with HWI_MARK_INDIRECT. Returns 0 or HW_ERR_MEMORY. */
int hwi_cycles_mark(struct hwi_graph *graph, struct hwi_error *error);

#endif
