/* fragmentation.h - the free memory of a heap that the allocator cannot give back, and the blocks that hold it */
#ifndef HWI_MEMORY_HEAPS_FRAGMENTATION_H
#define HWI_MEMORY_HEAPS_FRAGMENTATION_H

#include "memory/heaps/heap.h"

/* Live blocks at the end of an arena, which shrinks only from its end. */
struct hwi_pin {
  uint64_t address, blocks, bytes; /* of the lowest of them, how many, and their usable bytes */
  uint64_t held_bytes;             /* free memory that would be at the end of the arena without them */
};

enum { HWI_PINS_MAX = 8 };

struct hwi_fragmentation {
  uint64_t page_bytes;               /* of free memory: in whole pages, which malloc_trim gives back */
  struct hwi_pin pins[HWI_PINS_MAX]; /* of the arenas with most held bytes, in this order */
  size_t pin_count;
};

void hwi_fragmentation_find(struct hwi_fragmentation *fragmentation, const struct hwi_core_heap *heap);

#endif
