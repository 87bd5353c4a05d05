/* radix_sort.h - sorts items by a key */
#ifndef HWI_TRACE_RADIX_SORT_H
#define HWI_TRACE_RADIX_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hwi_sort_item {
  uint64_t key;
  uint32_t item;
  uint32_t detail; /* as the caller needs it */
};

/* Sorts by key, the largest first. The sort is stable and takes linear time. Returns false if there is no memory. */
bool hwi_radix_sort(struct hwi_sort_item *items, size_t count);

#endif
