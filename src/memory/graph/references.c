/* references.c - finds all words that refer to a block */
#include <stdlib.h>

#include "memory/graph/scan.h"
#include "trace/grow.h"

struct search {
  const struct hwi_graph *graph;
  struct hwi_references *references;
  uint32_t block;
  size_t most;
  bool failed;
};

static void take(void *state, uint32_t block, uint64_t at, uint64_t to)
{
  struct search *search = state;
  struct hwi_references *found = search->references;
  if (block != search->block || found->total++ >= search->most)
    return;
  if (!hwi_grow((void **)&found->list, &found->capacity, found->count + 1, sizeof *found->list)) {
    search->failed = true;
    return;
  }
  struct hwi_reference *reference = &found->list[found->count++];
  hwi_reference_of(search->graph, block, at, to, reference);
}

void hwi_reference_of(const struct hwi_graph *graph, uint32_t block, uint64_t at, uint64_t to,
                      struct hwi_reference *reference)
{
  const uint64_t to_off = to - graph->heap->blocks[block].address;
  *reference = (struct hwi_reference){.is_start = to_off == 0, .to_off = to_off};
  if (hwi_scan_is_register(at))
    reference->place = (struct hwi_core_place){.kind = HWI_CORE_PLACE_REGISTER,
                                               .thread = at / 2 / HWI_SCAN_REGISTERS,
                                               .reg = (unsigned)(at / 2 % HWI_SCAN_REGISTERS),
                                               .block = HWI_NO_BLOCK};
  else
    hwi_graph_place(graph, at, &reference->place);
}

int hwi_references_find(struct hwi_references *references, const struct hwi_graph *graph, uint32_t block, size_t most,
                        struct hwi_error *error)
{
  struct search search = {.graph = graph, .references = references, .block = block, .most = most};
  struct hwi_scan scan = hwi_scan_of(graph);
  *references = (struct hwi_references){0};
  hwi_scan_roots(&scan, false, take, &search);
  for (uint32_t i = 0; i < graph->heap->block_count; i++)
    if (hwi_scan_is_live(graph, i))
      hwi_scan_block(&scan, i, take, &search);
  hwi_scan_roots(&scan, true, take, &search);
  for (uint32_t i = 0; i < graph->heap->block_count; i++)
    if (hwi_scan_is_free(graph, i))
      hwi_scan_block(&scan, i, take, &search);
  if (!search.failed)
    return 0;
  hwi_references_release(references);
  return hwi_error_set(error, HW_ERR_MEMORY, "no memory for the list of references");
}

void hwi_references_release(struct hwi_references *references)
{
  free(references->list);
  *references = (struct hwi_references){0};
}
