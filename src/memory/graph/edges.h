/* edges.h - references between some of the blocks, stored: for what must follow them more often than once
 *
 * node  one of these blocks. Nodes have numbers from 1, in the order of addresses; 0 stands for all roots.
 */
#ifndef HWI_MEMORY_GRAPH_EDGES_H
#define HWI_MEMORY_GRAPH_EDGES_H

#include "memory/graph/graph.h"

/* All zero: none. The references of node i are to[begin[i]] to to[begin[i + 1]]. One to the block itself is left out. */
struct hwi_edges {
  uint32_t *nodes;  /* of each block; 0: it is none */
  uint32_t *blocks; /* of each node */
  uint32_t count;   /* of nodes, without 0 */
  uint32_t *begin;  /* count + 2 */
  uint32_t *to;
};

/* Which blocks are nodes: those that have one of the marks `any` and none of `none`. */
struct hwi_edges_choice {
  uint8_t any, none;
  bool with_roots; /* also the references from roots */
};

struct hwi_edges_bound {
  uint64_t memory_most, node_bytes, reference_bytes; /* the latter for each node and for each reference */
};

/* Returns 0, HW_ERR_MEMORY, or HW_ERR_LIMIT if more memory than the bound is needed. */
int hwi_edges_make(struct hwi_edges *edges, const struct hwi_graph *graph, const struct hwi_edges_choice *choice,
                   const struct hwi_edges_bound *bound, struct hwi_error *error);
void hwi_edges_release(struct hwi_edges *edges);

#endif
