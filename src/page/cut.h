/* cut.h - which part of the tree of call stacks a document holds, and what becomes of the rest
 *
 * node       a frame of the profile that is kept. Callers of kept frames are kept.
 * row        what one kept stack is accountable for, or the sum of what was cut: all stacks whose innermost kept frame is the
 *            same, and which go on below it. Every stack is in exactly one row, so that rows add up to the run's figures.
 * share      of a frame: the largest of its shares of the run's bytes at the peak, live bytes, calls, bytes, temporary calls,
 *            failed calls and of the stacks' own peaks. A frame's share is never above its caller's: the frames with the
 *            largest shares are a tree, however many are taken.
 */
#ifndef HWI_PAGE_CUT_H
#define HWI_PAGE_CUT_H

#include "report/names/named_frames.h"

/* uint64_t throughout, for they are columns of a table. */
struct hwi_page_row {
  uint64_t node;   /* plus 1; 0: none */
  uint64_t stacks; /* that were cut and are summed here; 0: this is one stack */
  uint64_t entry;
  uint64_t calls, bytes, temporary_calls, free_calls, failed_calls;
  uint64_t peak_bytes, peak_blocks, peak_usable_bytes, own_peak_bytes;
  uint64_t live_bytes, live_blocks, runtime_live_bytes, runtime_live_blocks;
  uint64_t smallest, largest, first_ns, last_ns;
  uint64_t lifetimes[HWI_LIFETIMES];
};

struct hwi_page_cut {
  const struct hwi_profile *profile;
  uint32_t *order; /* frames with any share, the largest first */
  uint32_t order_count;
  bool *is_runtime;  /* by stack: what it leaves is the runtime's own */
  uint32_t *frames;  /* by node: ascending */
  uint32_t *node_of; /* by frame: plus 1; 0: it is below the cut */
  uint32_t node_count;
  uint32_t *row_of; /* by stack */
  struct hwi_page_row *rows;
  uint32_t row_count, kept_count; /* kept: stacks with a row of their own */
};

/* With at most `nodes_max` nodes. `frames` tells whose blocks are the runtime's. To be released, even after a failure. */
int hwi_page_cut_init(struct hwi_page_cut *cut, struct hwi_named_frames *frames, uint32_t nodes_max,
                      struct hwi_error *error);
void hwi_page_cut_release(struct hwi_page_cut *cut);

/* Cuts again, with at most so many nodes, no more than before. The stacks of a row of before are all in one row of now. */
int hwi_page_cut_lower(struct hwi_page_cut *cut, uint32_t nodes_max, struct hwi_error *error);

#endif
