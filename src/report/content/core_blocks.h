/* core_blocks.h - the words for a block of a core dump */
#ifndef HWI_REPORT_CONTENT_CORE_BLOCKS_H
#define HWI_REPORT_CONTENT_CORE_BLOCKS_H

#include "memory/graph/graph.h"

/* For what stores all references of a heap. */
#define HWI_RETAINED_MEMORY_MOST ((uint64_t)4 << 30)

/* Returns "live", "leaked directly", "free, ...": after hwi_leaks_find. */
const char *hwi_core_block_words(const struct hwi_graph *graph, uint32_t block);

#endif
