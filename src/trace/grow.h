/* grow.h - a growing array, for the tool side; an array that may grow to megabytes uses table.h instead */
#ifndef HWI_TRACE_GROW_H
#define HWI_TRACE_GROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for at least `needed` items of `item_bytes`; new ones are zero. Returns false if there is no memory; then
 * nothing is changed. */
static inline bool hwi_grow(void **items, size_t *capacity, size_t needed, size_t item_bytes)
{
  if (needed <= *capacity)
    return true;
  size_t wanted = *capacity ? *capacity : 16;
  while (wanted < needed)
    wanted += wanted / 2;
  if (wanted > SIZE_MAX / item_bytes)
    return false;
  void *made = realloc(*items, wanted * item_bytes);
  if (!made)
    return false;
  memset((char *)made + *capacity * item_bytes, 0, (wanted - *capacity) * item_bytes);
  *items = made;
  *capacity = wanted;
  return true;
}

#endif
