/* size_counts.h - a count of blocks for each size, in the order in which the sizes are first counted */
#ifndef HWI_EXPORT_SIZE_COUNTS_H
#define HWI_EXPORT_SIZE_COUNTS_H

#include "trace/numbering.h"

/* All zero: no sizes. */
struct hwi_size_counts {
  struct hwi_numbering sizes; /* of (size, 0) */
  int64_t *blocks;            /* by number */
  size_t capacity;
};

/* Changes the count of a size. Returns false if there is no memory. */
bool hwi_size_counts_add(struct hwi_size_counts *counts, uint64_t size, int64_t change);
void hwi_size_counts_release(struct hwi_size_counts *counts);

#endif
