/* retained.c - finds how much each block retains: the tree of dominators
 *
 * A block dominates another if each chain from a root leads over it. The algorithm is that of Lengauer and Tarjan (1979), in
 * its simple form, without recursion: its time grows as the references times the logarithm of the blocks, whatever the shape
 * of the heap. The names of its variables are those of the paper. Blocks are numbered in the order of a search in depth.
 */
#include <stdlib.h>

#include "memory/graph/edges.h"
#include "memory/graph/scan.h"
#include "trace/table.h"

enum { BYTES_OF_NODE = 72, BYTES_OF_REFERENCE = 8, NONE = UINT32_MAX };

/* Index 0 in all lists is the roots. All but `number` are by the order of the search. */
struct tree {
  struct hwi_edges edges;
  uint32_t count;   /* of nodes, with 0 */
  uint32_t *number; /* of each node: its place in that order */
  uint32_t *vertex; /* the node */
  uint32_t *parent; /* in the search */
  uint32_t *semi, *ancestor, *label, *dom;
  uint32_t *bucket, *bucket_next;
  uint32_t *begin, *from; /* references to each one */
  uint32_t *path;         /* for work in between */
};

static uint32_t *list(const struct tree *tree)
{
  return hwi_table_calloc((size_t)tree->count + 2, sizeof(uint32_t));
}

static bool make(struct tree *tree)
{
  tree->count = tree->edges.count + 1;
  uint32_t **const lists[] = {&tree->number,      &tree->vertex, &tree->parent, &tree->semi,
                              &tree->ancestor,    &tree->label,  &tree->dom,    &tree->bucket,
                              &tree->bucket_next, &tree->begin,  &tree->path};
  bool done = true;
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    done = (*lists[i] = list(tree)) && done;
  tree->from = hwi_table_calloc((size_t)tree->edges.begin[tree->edges.count + 1] + 1, sizeof *tree->from);
  return done && tree->from;
}

static void release(struct tree *tree)
{
  uint32_t *const lists[] = {tree->number, tree->vertex, tree->parent,      tree->semi,  tree->ancestor, tree->label,
                             tree->dom,    tree->bucket, tree->bucket_next, tree->begin, tree->path,     tree->from};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    free(lists[i]);
  hwi_edges_release(&tree->edges);
}

/* Numbers the nodes in the order of a search in depth. `label` is the next reference of each node, meanwhile. Returns how
 * many were found: with the roots, all, as every node is reached. */
static uint32_t number_nodes(struct tree *tree)
{
  const struct hwi_edges *edges = &tree->edges;
  uint32_t found = 1, depth = 1;
  tree->path[0] = 0;
  for (uint32_t i = 0; i < tree->count; i++)
    tree->label[i] = edges->begin[i];
  while (depth) {
    const uint32_t node = tree->path[depth - 1];
    if (tree->label[node] == edges->begin[node + 1]) {
      depth--;
      continue;
    }
    const uint32_t to = edges->to[tree->label[node]++];
    if (tree->number[to])
      continue;
    tree->number[to] = found;
    tree->vertex[found] = to;
    tree->parent[found++] = tree->number[node];
    tree->path[depth++] = to;
  }
  return found;
}

/* Turns the references round. Then those of the edges are not needed any more. */
static void turn_round(struct tree *tree)
{
  struct hwi_edges *edges = &tree->edges;
  for (uint32_t i = 0; i < edges->begin[tree->count]; i++)
    tree->begin[tree->number[edges->to[i]] + 1]++;
  for (uint32_t i = 0; i < tree->count; i++)
    tree->begin[i + 1] += tree->begin[i];
  for (uint32_t i = 0; i < tree->count; i++)
    tree->label[i] = tree->begin[i];
  for (uint32_t node = 0; node < tree->count; node++)
    for (uint32_t i = edges->begin[node]; i < edges->begin[node + 1]; i++)
      tree->from[tree->label[tree->number[edges->to[i]]]++] = tree->number[node];
  free(edges->to);
  edges->to = NULL;
}

static void compress(struct tree *tree, uint32_t v)
{
  uint32_t depth = 0;
  while (tree->ancestor[tree->ancestor[v]] != (uint32_t)NONE) {
    tree->path[depth++] = v;
    v = tree->ancestor[v];
  }
  while (depth) {
    v = tree->path[--depth];
    const uint32_t above = tree->ancestor[v];
    if (tree->semi[tree->label[above]] < tree->semi[tree->label[v]])
      tree->label[v] = tree->label[above];
    tree->ancestor[v] = tree->ancestor[above];
  }
}

static uint32_t eval(struct tree *tree, uint32_t v)
{
  if (tree->ancestor[v] == (uint32_t)NONE)
    return tree->label[v];
  compress(tree, v);
  return tree->label[v];
}

static void find_dominators(struct tree *tree)
{
  for (uint32_t i = 0; i < tree->count; i++) {
    tree->semi[i] = tree->label[i] = i;
    tree->ancestor[i] = (uint32_t)NONE;
  }
  for (uint32_t w = tree->count - 1; w > 0; w--) {
    const uint32_t p = tree->parent[w];
    for (uint32_t i = tree->begin[w]; i < tree->begin[w + 1]; i++) {
      const uint32_t u = eval(tree, tree->from[i]);
      if (tree->semi[u] < tree->semi[w])
        tree->semi[w] = tree->semi[u];
    }
    tree->bucket_next[w] = tree->bucket[tree->semi[w]];
    tree->bucket[tree->semi[w]] = w;
    tree->ancestor[w] = p;
    for (uint32_t v = tree->bucket[p], next; v; v = next) {
      next = tree->bucket_next[v];
      const uint32_t u = eval(tree, v);
      tree->dom[v] = tree->semi[u] < tree->semi[v] ? u : p;
    }
    tree->bucket[p] = 0;
  }
  for (uint32_t w = 1; w < tree->count; w++)
    if (tree->dom[w] != tree->semi[w])
      tree->dom[w] = tree->dom[tree->dom[w]];
}

/* --- sums --- */

static uint32_t block_of(const struct tree *tree, uint32_t number)
{
  return tree->edges.blocks[tree->vertex[number]];
}

/* Those that retain most come first. */
static int compare(const void *a, const void *b)
{
  const struct hwi_retainer *x = a, *y = b;
  if (x->retained.bytes != y->retained.bytes)
    return x->retained.bytes < y->retained.bytes ? 1 : -1;
  return x->block < y->block ? -1 : x->block > y->block;
}

/* Keeps a short list sorted. */
static void insert(struct hwi_retained *retained, size_t most, const struct hwi_retainer *one)
{
  if (retained->count == most && (most == 0 || retained->list[most - 1].retained.bytes >= one->retained.bytes))
    return;
  size_t at = retained->count < most ? retained->count++ : most - 1;
  for (; at > 0 && retained->list[at - 1].retained.bytes < one->retained.bytes; at--)
    retained->list[at] = retained->list[at - 1];
  retained->list[at] = *one;
}

/* A dominator has a lower number than what it dominates. */
static bool sum_up(struct hwi_retained *retained, const struct hwi_graph *graph, const struct tree *tree, size_t most)
{
  struct hwi_core_heap_sum *sums = hwi_table_calloc(tree->count, sizeof *sums);
  const bool is_all = most >= tree->count;
  retained->list = calloc((is_all ? tree->count : most) + 1, sizeof *retained->list);
  if (sums && retained->list) {
    for (uint32_t w = tree->count - 1; w > 0; w--) {
      sums[w].blocks++;
      sums[w].bytes += hwi_core_block_bytes(&graph->heap->blocks[block_of(tree, w)]);
      sums[tree->dom[w]].blocks += sums[w].blocks;
      sums[tree->dom[w]].bytes += sums[w].bytes;
    }
    for (uint32_t w = 1; w < tree->count; w++) {
      const struct hwi_retainer one = {.block = block_of(tree, w),
                                       .over = tree->dom[w] ? block_of(tree, tree->dom[w]) : HWI_NO_BLOCK,
                                       .retained = sums[w]};
      if (is_all)
        retained->list[retained->count++] = one;
      else
        insert(retained, most, &one);
    }
    if (is_all)
      qsort(retained->list, retained->count, sizeof *retained->list, compare);
    retained->reached = sums[0];
  }
  free(sums);
  return sums && retained->list;
}

/* --- roots --- */

struct root_search {
  const struct hwi_graph *graph;
  struct hwi_retained *retained;
  uint32_t *places; /* of each block: its place in the list, from 1 on */
};

static void take_root(void *state, uint32_t block, uint64_t at, uint64_t to)
{
  const struct root_search *search = state;
  const uint32_t place = search->places[block];
  if (place && search->retained->list[place - 1].root.place.kind == HWI_CORE_PLACE_UNKNOWN)
    hwi_reference_of(search->graph, block, at, to, &search->retained->list[place - 1].root);
}

/* Reads the roots once more. */
static bool find_roots(struct hwi_retained *retained, const struct hwi_graph *graph)
{
  struct root_search search = {graph, retained, hwi_table_calloc(graph->heap->block_count + 1, sizeof(uint32_t))};
  struct hwi_scan scan = hwi_scan_of(graph);
  for (size_t i = 0; search.places && i < retained->count; i++) {
    search.places[retained->list[i].block] = (uint32_t)i + 1;
    retained->list[i].root.place.kind = HWI_CORE_PLACE_UNKNOWN;
  }
  if (search.places)
    hwi_scan_roots(&scan, false, take_root, &search);
  free(search.places);
  return search.places;
}

int hwi_retained_find(struct hwi_retained *retained, const struct hwi_graph *graph, size_t most, uint64_t memory_most,
                      struct hwi_error *error)
{
  const struct hwi_edges_choice choice = {.any = HWI_MARK_REACHED | HWI_MARK_BY_INTERIOR, .with_roots = true};
  const struct hwi_edges_bound bound = {memory_most, BYTES_OF_NODE, BYTES_OF_REFERENCE};
  struct tree tree = {0};
  *retained = (struct hwi_retained){0};
  int status = hwi_edges_make(&tree.edges, graph, &choice, &bound, error);
  if (status < 0)
    return status;
  retained->reference_count = tree.edges.begin[tree.edges.count + 1];
  retained->memory_bytes = tree.edges.count * (uint64_t)BYTES_OF_NODE + retained->reference_count * BYTES_OF_REFERENCE;
  bool done = make(&tree);
  if (done) {
    tree.count = number_nodes(&tree);
    turn_round(&tree);
    find_dominators(&tree);
    done = sum_up(retained, graph, &tree, most) && find_roots(retained, graph);
  }
  release(&tree);
  if (done)
    return 0;
  hwi_retained_release(retained);
  return hwi_error_set(error, HW_ERR_MEMORY, "no memory to find what blocks retain; use a larger machine");
}

void hwi_retained_release(struct hwi_retained *retained)
{
  free(retained->list);
  *retained = (struct hwi_retained){0};
}
