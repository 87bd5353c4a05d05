/* tree.h - the part of the call tree that a document contains, and the sums of the rest
 *
 * node       a frame of the profile that is kept. Callers of kept frames are kept, too. Other frames are cut.
 * row        the amounts of one kept stack, or the sum of cut stacks: all stacks that have the same innermost kept
 *            frame and continue below it. Every stack is in exactly one row, so that rows add up to the run's figures.
 * share      of a frame: the largest of its parts of the run's bytes at the peak, live bytes, calls, bytes, temporary
 *            calls, failed calls and of the stacks' own peaks. A frame's share never exceeds its caller's: any number
 *            of frames with the largest shares form a tree.
 */
#ifndef HWI_PAGE_TREE_H
#define HWI_PAGE_TREE_H

#include "report/names/named_frames.h"

/* All members are uint64_t, since they are columns of a table. */
struct hwi_page_row {
  uint64_t node;   /* plus 1; 0: none */
  uint64_t stacks; /* number of cut stacks that are summed up here; 0: this is one stack */
  uint64_t entry;
  uint64_t calls, bytes, temporary_calls, free_calls, failed_calls;
  uint64_t peak_bytes, peak_blocks, peak_usable_bytes, own_peak_bytes;
  uint64_t live_bytes, live_blocks, runtime_live_bytes, runtime_live_blocks;
  uint64_t smallest, largest, first_ns, last_ns;
  uint64_t lifetimes[HWI_LIFETIMES];
  /* of a sample; written from: */
  uint64_t calls_error, bytes_error, temporary_calls_error;
  uint64_t peak_bytes_error, peak_blocks_error, live_bytes_error, live_blocks_error;
  struct hwi_variance variance;
};

struct hwi_page_tree {
  const struct hwi_profile *profile;
  uint32_t *order; /* frames with any share, the largest first */
  uint32_t order_count;
  bool *is_runtime;  /* by stack: whether its unfreed blocks are the runtime's own */
  uint32_t *frames;  /* by node: ascending */
  uint32_t *node_of; /* by frame: the node plus 1; 0: the frame is cut */
  uint32_t node_count;
  uint32_t *row_of; /* by stack */
  struct hwi_page_row *rows;
  uint32_t row_count, kept_count; /* kept_count: stacks with a row of their own */
};

/* Makes a tree with at most `nodes_max` nodes. `frames` is used to find the runtime's own blocks. Returns 0 or a
 * negative status. Release `tree` even after a failure. */
int hwi_page_tree_init(struct hwi_page_tree *tree, struct hwi_named_frames *frames, uint32_t nodes_max,
                       struct hwi_error *error);
void hwi_page_tree_release(struct hwi_page_tree *tree);

/* Reduces the tree to at most `nodes_max` nodes, not more than before. All stacks of an old row are in the same new
 * row. Returns 0 or a negative status. */
int hwi_page_tree_reduce(struct hwi_page_tree *tree, uint32_t nodes_max, struct hwi_error *error);

#endif
