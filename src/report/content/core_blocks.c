/* core_blocks.c - the words for a block of a core dump */
#include "report/content/core_blocks.h"

const char *hwi_core_block_words(const struct hwi_graph *graph, uint32_t block)
{
  static const char *const leaks[HWI_LEAK_KINDS] = {"leaked", "leaked indirectly", "leaked in a cycle"};
  static const char *const states[HWI_CORE_BLOCK_STATES] = {
      "live", "of the allocator", "free", "free, and kept for a thread or a size", "the free end of an arena"};
  if (hwi_graph_is_leak(graph, block))
    return leaks[hwi_graph_leak_kind(graph, block)];
  return states[hwi_core_block_state(&graph->heap->blocks[block])];
}
