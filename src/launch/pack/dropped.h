/* dropped.h - follows the events before a moment: which of them are left, and the sums of the others */
#ifndef HWI_LAUNCH_PACK_DROPPED_H
#define HWI_LAUNCH_PACK_DROPPED_H

#include "launch/pack/left.h"

/* A block that lives, or is the latest of its thread. */
struct hwi_dropped_block {
  uint64_t born_tick, address;
  uint32_t cell, thread; /* indices */
  uint32_t left;         /* its allocation */
  uint32_t weight;       /* see profile/blocks/sample.h; 1: the events are all there */
};

struct hwi_dropped_cell {
  struct hw_base_cell sums; /* peak_blocks: at the tally's generation */
  uint64_t live;
  uint64_t earlier_peak_blocks; /* of the base before */
  uint32_t generation;
};

struct hwi_dropped_thread {
  struct hw_base_thread sums;
  uint64_t latest_address; /* of its latest allocation */
  /* Its latest block, if that has ended: not dropped yet. left 0: none. */
  struct hwi_dropped_block ended;
  uint32_t ended_left; /* the free */
  uint64_t ended_tick;
};

struct hwi_dropped {
  const struct hwi_trace *trace;
  bool forked;
  uint64_t sample_bytes; /* of a sample, whose sums are estimates; 0: the events are all there */
  struct hwi_left left;
  struct hwi_live live; /* indices of blocks, plus 1 */
  struct hwi_dropped_block *blocks;
  size_t block_count, block_capacity;
  uint32_t *free_blocks;
  size_t free_count, free_capacity;
  struct hwi_dropped_cell *cells;
  size_t cell_count, cell_capacity;
  struct hwi_hash_table cell_indices; /* plus 1 */
  struct hwi_dropped_thread *threads;
  size_t thread_count, thread_capacity;
  struct hwi_hash_table thread_indices; /* plus 1 */
  struct hw_base about;
  struct hw_base_slice slices[HW_BASE_SLICES_MAX];
  uint32_t slice; /* the current one */
  uint64_t live_bytes, live_blocks, live_usable;
  uint32_t generation; /* of the peak; 0: it is the one of the base before */
};

/* `trace` is open at its begin; what its base has is added. Returns false if there is no memory; so do the others. */
bool hwi_dropped_init(struct hwi_dropped *dropped, struct hwi_trace *trace);
void hwi_dropped_release(struct hwi_dropped *dropped);

bool hwi_dropped_take(struct hwi_dropped *dropped, const struct hwi_event *events, int count);

/* No event before `until` follows: completes the sums. */
bool hwi_dropped_end(struct hwi_dropped *dropped, uint64_t until);

#endif
