/* recorder_memory.h - what a recorder has in the memory of the process that it records (base/own_memory.h) */
#ifndef HWI_MEMORY_IMAGE_RECORDER_MEMORY_H
#define HWI_MEMORY_IMAGE_RECORDER_MEMORY_H

#include "base/own_memory.h"
#include "memory/image/memory.h"

/* Gets the description of a recorder in the regions from *region on, which becomes that behind it. Returns false if there is none. What
 * it says is not checked. */
bool hwi_recorder_memory_next(const struct hwi_memory *memory, size_t *region, struct hwi_own_memory *own);

#endif
