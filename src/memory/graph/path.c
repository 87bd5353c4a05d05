/* path.c - finds a shortest chain of references from a root to a block
 *
 * References are followed in the order of their distance from the roots, and each block keeps which block reached it first.
 */
#include <stdlib.h>

#include "memory/graph/scan.h"
#include "trace/grow.h"
#include "trace/table.h"

enum { FROM_ROOT = UINT32_MAX };

struct search {
  const struct hwi_graph *graph;
  struct hwi_scan scan;
  uint32_t *before; /* of each block: the block that refers to it, plus 1; 0: not reached; FROM_ROOT */
  uint32_t from;    /* what is read now, likewise */
  size_t head, tail;
};

static void visit(void *state, uint32_t block, uint64_t at, uint64_t to)
{
  (void)at, (void)to;
  struct search *search = state;
  if (search->before[block] || !hwi_scan_is_live(search->graph, block))
    return;
  search->before[block] = search->from;
  search->graph->queue[search->tail++] = block;
}

static bool is_reached(struct search *search, uint32_t block)
{
  search->from = FROM_ROOT;
  hwi_scan_roots(&search->scan, false, visit, search);
  while (search->head < search->tail && !search->before[block]) {
    const uint32_t from = search->graph->queue[search->head++];
    search->from = from + 1;
    hwi_scan_block(&search->scan, from, visit, search);
  }
  return search->before[block];
}

/* --- the steps --- */

struct step {
  uint32_t block; /* that is referred to */
  bool is_found;
  uint64_t at, to;
};

static void take(void *state, uint32_t block, uint64_t at, uint64_t to)
{
  struct step *step = state;
  if (block == step->block && !step->is_found) {
    step->is_found = true;
    step->at = at;
    step->to = to;
  }
}

static bool add_step(struct search *search, struct hwi_path *path, uint32_t block)
{
  struct step step = {.block = block};
  if (search->before[block] == FROM_ROOT)
    hwi_scan_roots(&search->scan, false, take, &step);
  else
    hwi_scan_block(&search->scan, search->before[block] - 1, take, &step);
  if (!hwi_grow((void **)&path->steps, &path->capacity, path->count + 1, sizeof *path->steps))
    return false;
  hwi_reference_of(search->graph, block, step.at, step.to, &path->steps[path->count++]);
  return true;
}

static void turn_round(struct hwi_path *path)
{
  for (size_t i = 0; i < path->count / 2; i++) {
    const struct hwi_reference step = path->steps[i];
    path->steps[i] = path->steps[path->count - 1 - i];
    path->steps[path->count - 1 - i] = step;
  }
}

int hwi_path_find(struct hwi_path *path, const struct hwi_graph *graph, uint32_t block, struct hwi_error *error)
{
  struct search search = {.graph = graph, .scan = hwi_scan_of(graph)};
  bool done;
  *path = (struct hwi_path){0};
  search.before = hwi_table_calloc(graph->heap->block_count + 1, sizeof *search.before);
  done = search.before;
  if (done && is_reached(&search, block))
    for (uint32_t at = block; done; at = search.before[at] - 1) {
      done = add_step(&search, path, at);
      if (search.before[at] == FROM_ROOT)
        break;
    }
  turn_round(path);
  free(search.before);
  if (done)
    return 0;
  hwi_path_release(path);
  return hwi_error_set(error, HW_ERR_MEMORY, "no memory to find a chain of references to the block");
}

void hwi_path_release(struct hwi_path *path)
{
  free(path->steps);
  *path = (struct hwi_path){0};
}
