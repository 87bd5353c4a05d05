/* cycles.c - finds cycles of leaks: strongly connected components to which no reference leads from outside
 *
 * Tarjan's algorithm with a stack of its own, on stored references. A component gets a number when its first node is
 * finished; components that refer to others get the greater numbers.
 */
#include "memory/graph/cycles.h"

#include <stdlib.h>

#include "memory/graph/edges.h"
#include "trace/table.h"

struct search {
  struct hwi_edges edges;
  uint32_t *order;     /* of each node: when it was found, from 1; 0: not yet */
  uint32_t *low;       /* the earliest node that it reaches; once finished, the number of its component */
  uint32_t *next;      /* reference of each node to follow */
  uint32_t *path;      /* nodes that are being followed */
  uint32_t *waiting;   /* nodes that are found and in no component yet */
  uint8_t *is_entered; /* of each component: a reference leads to it from another */
  size_t path_count, waiting_count;
  uint32_t found, components;
  uint8_t *is_finished; /* of each node */
};

static bool make(struct search *search)
{
  const size_t count = (size_t)search->edges.count + 2;
  search->order = hwi_table_calloc(count, sizeof *search->order);
  search->low = hwi_table_calloc(count, sizeof *search->low);
  search->next = hwi_table_calloc(count, sizeof *search->next);
  search->path = hwi_table_calloc(count, sizeof *search->path);
  search->waiting = hwi_table_calloc(count, sizeof *search->waiting);
  search->is_entered = hwi_table_calloc(count, 1);
  search->is_finished = hwi_table_calloc(count, 1);
  return search->order && search->low && search->next && search->path && search->waiting && search->is_entered &&
         search->is_finished;
}

static void release(struct search *search)
{
  hwi_edges_release(&search->edges);
  free(search->order);
  free(search->low);
  free(search->next);
  free(search->path);
  free(search->waiting);
  free(search->is_entered);
  free(search->is_finished);
}

static void enter(struct search *search, uint32_t node)
{
  search->order[node] = search->low[node] = ++search->found;
  search->next[node] = search->edges.begin[node];
  search->path[search->path_count++] = node;
  search->waiting[search->waiting_count++] = node;
}

static void finish_component(struct search *search, uint32_t first)
{
  uint32_t node;
  const uint32_t number = ++search->components;
  do {
    node = search->waiting[--search->waiting_count];
    search->low[node] = number;
    search->is_finished[node] = true;
  } while (node != first);
}

static void follow_from(struct search *search, uint32_t first)
{
  enter(search, first);
  while (search->path_count) {
    const uint32_t node = search->path[search->path_count - 1];
    if (search->next[node] < search->edges.begin[node + 1]) {
      const uint32_t to = search->edges.to[search->next[node]++];
      if (!search->order[to])
        enter(search, to);
      else if (!search->is_finished[to] && search->order[to] < search->low[node])
        search->low[node] = search->order[to];
      continue;
    }
    search->path_count--;
    const uint32_t low = search->low[node];
    if (low == search->order[node])
      finish_component(search, node);
    if (search->path_count) {
      const uint32_t before = search->path[search->path_count - 1];
      if (low < search->low[before])
        search->low[before] = low;
    }
  }
}

static void mark(struct search *search, struct hwi_graph *graph)
{
  const struct hwi_edges *edges = &search->edges;
  for (uint32_t node = 1; node <= edges->count; node++)
    for (uint32_t i = edges->begin[node]; i < edges->begin[node + 1]; i++)
      if (search->low[edges->to[i]] != search->low[node])
        search->is_entered[search->low[edges->to[i]]] = true;
  for (uint32_t node = 1; node <= edges->count; node++)
    graph->marks[edges->blocks[node]] |= search->is_entered[search->low[node]] ? HWI_MARK_INDIRECT : HWI_MARK_IN_CYCLE;
}

int hwi_cycles_mark(struct hwi_graph *graph, struct hwi_error *error)
{
  struct search search = {0};
  const struct hwi_edges_choice choice = {.any = HWI_MARK_FROM_LEAK, .none = HWI_MARK_INDIRECT};
  const struct hwi_edges_bound bound = {.memory_most = UINT64_MAX};
  int status = hwi_edges_make(&search.edges, graph, &choice, &bound, error);
  if (status == 0 && !make(&search))
    status = hwi_error_set(error, HW_ERR_MEMORY, "no memory to find the cycles among leaks; use a larger machine");
  if (status == 0) {
    for (uint32_t node = 1; node <= search.edges.count; node++)
      if (!search.order[node])
        follow_from(&search, node);
    mark(&search, graph);
  }
  release(&search);
  return status;
}
