/* resizes.h - blocks whose contents move on to a larger or smaller block: by realloc, or probably when a container
 * grows
 *
 * step       a block ends and another one takes over its contents. For realloc this is known. For the growth of a
 *            container it is an estimate, because contents are not recorded: operator new returns a block, and the very
 *            next call of the thread is the operator delete of a smaller block that was allocated at the same place in
 *            the code.
 * final      a block that no step ended: the result of the steps before it.
 * Steps are counted by cell, so that all figures are sums: a stack's final blocks are its calls minus those that steps
 * ended.
 */
#ifndef HWI_PROFILE_COUNTERS_RESIZES_H
#define HWI_PROFILE_COUNTERS_RESIZES_H

#include "profile/profile.h"
#include "trace/hash_table.h"

static inline bool hwi_entry_is_new(uint8_t entry)
{
  return entry >= HW_ENTRY_NEW && entry <= HW_ENTRY_NEW_ARRAY_ALIGNED_NOTHROW;
}

static inline bool hwi_entry_is_delete(uint8_t entry)
{
  return entry >= HW_ENTRY_DELETE && entry <= HW_ENTRY_DELETE_ARRAY_SIZED_ALIGNED;
}

struct hwi_cell_resizes {
  struct hwi_resizes steps; /* that led to blocks of the cell */
  uint64_t ended;           /* blocks of the cell that steps ended */
};

struct hwi_resized_cell {
  uint32_t cell;
  struct hwi_cell_resizes counts;
};

/* All zero: empty. */
struct hwi_resize_tally {
  struct hwi_hash_table indices;  /* plus 1, of the items; the cell is the tag */
  struct hwi_resized_cell *items; /* [0, indices.count) */
  size_t capacity;
};

struct hwi_resize { /* a step */
  uint32_t to_cell;
  uint64_t from_bytes, to_bytes;
  bool moved; /* to another address */
};

void hwi_resizes_release(struct hwi_resize_tally *tally);

/* The first counts a block of the cell that a step ended, the second the step itself when its new block is known, which
 * may be later. They return false if there is no memory. */
bool hwi_resizes_end_block(struct hwi_resize_tally *tally, uint32_t from_cell);
bool hwi_resizes_add(struct hwi_resize_tally *tally, const struct hwi_resize *step);

/* Adds the figures of a cell that were counted elsewhere. Returns false if there is no memory. */
bool hwi_resizes_add_all(struct hwi_resize_tally *tally, uint32_t cell, const struct hwi_cell_resizes *counted);

/* Restarts counting. */
void hwi_resizes_restart(struct hwi_resize_tally *tally);

#endif
