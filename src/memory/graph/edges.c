/* edges.c - stores references between blocks: memory is read twice, to count them and to take them */
#include "memory/graph/edges.h"

#include <stdlib.h>

#include "memory/graph/scan.h"
#include "trace/table.h"

struct taking {
  struct hwi_edges *edges;
  uint32_t from;
  uint64_t count;
};

static bool choose(struct hwi_edges *edges, const struct hwi_graph *graph, const struct hwi_edges_choice *choice)
{
  const size_t block_count = graph->heap->block_count;
  edges->nodes = hwi_table_calloc(block_count + 1, sizeof *edges->nodes);
  if (!edges->nodes)
    return false;
  for (size_t i = 0; i < block_count; i++)
    if (graph->marks[i] & choice->any && !(graph->marks[i] & choice->none))
      edges->nodes[i] = ++edges->count;
  edges->blocks = hwi_table_calloc((size_t)edges->count + 1, sizeof *edges->blocks);
  edges->begin = hwi_table_calloc((size_t)edges->count + 2, sizeof *edges->begin);
  if (!edges->blocks || !edges->begin)
    return false;
  edges->blocks[0] = HWI_NO_BLOCK;
  for (size_t i = 0; i < block_count; i++)
    if (edges->nodes[i])
      edges->blocks[edges->nodes[i]] = (uint32_t)i;
  return true;
}

static void count_one(void *state, uint32_t block, uint64_t at, uint64_t to)
{
  (void)at, (void)to;
  struct taking *taking = state;
  const uint32_t node = taking->edges->nodes[block];
  taking->count += node && node != taking->from;
}

static void take_one(void *state, uint32_t block, uint64_t at, uint64_t to)
{
  (void)at, (void)to;
  struct taking *taking = state;
  const uint32_t node = taking->edges->nodes[block];
  if (node && node != taking->from)
    taking->edges->to[taking->count++] = node;
}

static uint64_t bytes_of(const struct hwi_edges *edges, uint64_t references, const struct hwi_edges_bound *bound)
{
  return edges->count * bound->node_bytes + references * bound->reference_bytes;
}

static bool is_within(const struct hwi_edges *edges, uint64_t references, const struct hwi_edges_bound *bound)
{
  return bytes_of(edges, references, bound) <= bound->memory_most && references < UINT32_MAX;
}

static int refuse(struct hwi_edges *edges, uint64_t references, const struct hwi_edges_bound *bound,
                  struct hwi_error *error)
{
  const uint32_t blocks = edges->count;
  const uint64_t bytes = bytes_of(edges, references, bound);
  hwi_edges_release(edges);
  return hwi_error_set(
      error, HW_ERR_LIMIT,
      "%lu blocks and the references between them would take %s%llu MB of memory; the limit is %llu MB",
      (unsigned long)blocks, references ? "" : "more than ", (unsigned long long)(bytes >> 20),
      (unsigned long long)(bound->memory_most >> 20));
}

int hwi_edges_make(struct hwi_edges *edges, const struct hwi_graph *graph, const struct hwi_edges_choice *choice,
                   const struct hwi_edges_bound *bound, struct hwi_error *error)
{
  struct hwi_scan scan = hwi_scan_of(graph);
  struct taking taking = {.edges = edges};
  *edges = (struct hwi_edges){0};
  if (!choose(edges, graph, choice))
    goto no_memory;
  if (!is_within(edges, 0, bound))
    return refuse(edges, 0, bound, error); /* before memory is read */
  if (choice->with_roots)
    hwi_scan_roots(&scan, false, count_one, &taking);
  for (taking.from = 1; taking.from <= edges->count; taking.from++)
    hwi_scan_block(&scan, edges->blocks[taking.from], count_one, &taking);
  if (!is_within(edges, taking.count, bound))
    return refuse(edges, taking.count, bound, error);
  edges->to = hwi_table_calloc(taking.count + 1, sizeof *edges->to);
  if (!edges->to)
    goto no_memory;
  taking = (struct taking){.edges = edges};
  if (choice->with_roots)
    hwi_scan_roots(&scan, false, take_one, &taking);
  for (taking.from = 1; taking.from <= edges->count; taking.from++) {
    edges->begin[taking.from] = (uint32_t)taking.count;
    hwi_scan_block(&scan, edges->blocks[taking.from], take_one, &taking);
  }
  edges->begin[edges->count + 1] = (uint32_t)taking.count;
  return 0;

no_memory:
  hwi_edges_release(edges);
  return hwi_error_set(error, HW_ERR_MEMORY, "no memory for the references between blocks; use a larger machine");
}

void hwi_edges_release(struct hwi_edges *edges)
{
  free(edges->nodes);
  free(edges->blocks);
  free(edges->begin);
  free(edges->to);
  *edges = (struct hwi_edges){0};
}
