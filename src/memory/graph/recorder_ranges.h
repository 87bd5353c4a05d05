/* recorder_ranges.h - memory of the recorder in a process that is recorded: it has words of the program, and is no root */
#ifndef HWI_MEMORY_GRAPH_RECORDER_RANGES_H
#define HWI_MEMORY_GRAPH_RECORDER_RANGES_H

#include "memory/image/memory.h"

/* Calls `add` for each range, as the recorder lists them (base/own_memory.h), until it returns false. */
void hwi_recorder_ranges(const struct hwi_memory *memory, bool (*add)(void *context, uint64_t begin, uint64_t end),
                         void *context);

#endif
