/* heap_blocks.h - the live blocks of the heaps that a program gives out itself (heapwright/monitor.h), in one image
 *
 * A block is known by its heap and its address: several heaps may use the same addresses. A heap is known from its first
 * event on, whatever that is: recording may have begun, or the process may have been forked, after its creation. A heap
 * that has ended takes no memory, since a program may make one for each of millions of requests.
 */
#ifndef HWI_PROFILE_BLOCKS_HEAP_BLOCKS_H
#define HWI_PROFILE_BLOCKS_HEAP_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/blocks/live.h"
#include "trace/reader.h"

struct hwi_heap_block {
  uint64_t address, size;
  uint32_t heap;          /* index of its heap */
  uint32_t before, after; /* in the list of the heap's blocks, or of free places; 0: none */
};

struct hwi_block_heap {
  uint32_t number; /* in the trace */
  uint32_t name;   /* the caller's number for it; 0: not set */
  uint32_t first;  /* of its blocks, the latest first; of a free place: the next one; 0: none */
  uint64_t live_blocks, live_bytes;
};

/* All zero: no heaps. */
struct hwi_heap_blocks {
  struct hwi_live numbers;      /* of the trace -> indices of heaps */
  struct hwi_block_heap *heaps; /* [1, heap_count] */
  uint32_t heap_count, free_heap;
  size_t heap_capacity;
  struct hwi_heap_block *blocks; /* [1, block_count] */
  uint32_t block_count, free_block;
  size_t block_capacity;
  struct hwi_live live; /* by heap and address; the numbers are indices of blocks */
};

void hwi_heap_blocks_release(struct hwi_heap_blocks *heaps);

/* Returns the index of the heap with this number, which is made if it is not known; 0 if there is no memory. */
uint32_t hwi_heap_blocks_heap(struct hwi_heap_blocks *heaps, uint32_t number);

/* Ends a heap, with its blocks. A later heap may get its index. */
void hwi_heap_blocks_end_heap(struct hwi_heap_blocks *heaps, uint32_t heap);

/* Returns the block of the heap that is live at the address; 0: none. */
uint32_t hwi_heap_blocks_find(const struct hwi_heap_blocks *heaps, uint32_t heap, uint64_t address);

/* Makes a block live at an address at which none of the heap is. Returns its index, or 0 if there is no memory. */
uint32_t hwi_heap_blocks_add(struct hwi_heap_blocks *heaps, uint32_t heap, uint64_t address, uint64_t size);

/* Ends a live block. A later block may get its index. */
void hwi_heap_blocks_remove(struct hwi_heap_blocks *heaps, uint32_t block);

#endif
