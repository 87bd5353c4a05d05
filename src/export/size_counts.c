/* size_counts.c - a count of blocks for each size, in the order in which the sizes are first counted */
#include "export/size_counts.h"

#include <stdlib.h>

#include "trace/grow.h"

bool hwi_size_counts_add(struct hwi_size_counts *counts, uint64_t size, int64_t change)
{
  uint32_t known = counts->sizes.count, number = hwi_numbering_of(&counts->sizes, size, 0);
  if (number == 0 || !hwi_grow((void **)&counts->blocks, &counts->capacity, (size_t)number + 1, sizeof *counts->blocks))
    return false;
  counts->blocks[number] = change + (number <= known ? counts->blocks[number] : 0);
  return true;
}

void hwi_size_counts_release(struct hwi_size_counts *counts)
{
  hwi_numbering_release(&counts->sizes);
  free(counts->blocks);
  *counts = (struct hwi_size_counts){0};
}
