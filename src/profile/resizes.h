/* resizes.h - blocks that live on in a larger or smaller one: realloc, and what looks like the growth of a container
 *
 * step       a block ends and another one takes over its contents. By realloc this is known. That a container grew is an
 *            estimate, for nobody sees contents: operator new gives out a block, and the very next call of its thread is the
 *            operator delete of a smaller block that was allocated at the same place in the code.
 * final      a block that no step ended: what the steps before it led to.
 * Counted by cell, so that all of it is a sum: a stack's final blocks are its calls less those that steps ended.
 */
#ifndef HWI_PROFILE_RESIZES_H
#define HWI_PROFILE_RESIZES_H

#include "profile/numbering.h"
#include "profile/profile.h"

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

/* All zero: nothing so far. */
struct hwi_resize_tally {
  struct hwi_numbering cells; /* by cell number */
  struct hwi_cell_resizes *items;
  size_t capacity;
};

struct hwi_step {
  uint32_t to_cell;
  uint64_t from_bytes, to_bytes;
  bool moved; /* the address is another */
};

void hwi_resizes_release(struct hwi_resize_tally *tally);

/* A step ends a block of the cell, and: the block that it leads to is there, which may be later. False: no memory. */
bool hwi_resizes_end_block(struct hwi_resize_tally *tally, uint32_t from_cell);
bool hwi_resizes_add(struct hwi_resize_tally *tally, const struct hwi_step *step);

/* What others counted of the cell. False: no memory. */
bool hwi_resizes_add_all(struct hwi_resize_tally *tally, uint32_t cell, const struct hwi_cell_resizes *counted);

/* Counting begins anew. */
void hwi_resizes_restart(struct hwi_resize_tally *tally);

#endif
