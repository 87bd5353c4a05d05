/* rows.h - a growing list of equal items */
#ifndef HWI_PROFILE_COUNTERS_ROWS_H
#define HWI_PROFILE_COUNTERS_ROWS_H

#include "trace/grow.h"

/* All zero: empty. */
struct hwi_rows {
  void *items;
  size_t count, capacity;
};

static inline void hwi_rows_release(struct hwi_rows *rows)
{
  free(rows->items);
  *rows = (struct hwi_rows){0};
}

/* Adds an item and returns its address, or NULL if there is no memory. */
static inline void *hwi_rows_add(struct hwi_rows *rows, size_t item_bytes)
{
  if (!hwi_grow(&rows->items, &rows->capacity, rows->count + 1, item_bytes))
    return NULL;
  return (char *)rows->items + rows->count++ * item_bytes;
}

#endif
