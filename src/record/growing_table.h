/* growing_table.h - a table that stays at its address while more of it becomes usable
 *
 * If a program locks its memory (mlockall), pages that can be used are present at once. A table that could be used to its
 * end from the start would cost such a program megabytes, and milliseconds in a thread that must not wait.
 */
#ifndef HWI_RECORD_GROWING_TABLE_H
#define HWI_RECORD_GROWING_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hwi_growing_table {
  _Atomic(char *) start; /* NULL: there is none yet */
  _Atomic size_t usable_bytes;
};

/* Returns whether the table's first `bytes` can be used. */
static inline bool hwi_growing_table_has(const struct hwi_growing_table *table, size_t bytes)
{
  return atomic_load_explicit(&table->usable_bytes, memory_order_acquire) >= bytes;
}

/* Returns the table, whose first `bytes` can then be used, and are zeros at first; NULL if there is no memory. It may grow to
 * `limit_bytes`, which is the same in every call. Async-signal-safe; no thread waits for another one. */
void *hwi_growing_table_use(struct hwi_growing_table *table, size_t bytes, size_t limit_bytes);

/* Returns whether this is the address of an item that can be used, and its index in *index. */
static inline bool hwi_growing_table_find(const struct hwi_growing_table *table, const void *item, size_t item_bytes,
                                          size_t *index)
{
  size_t usable = atomic_load_explicit(&table->usable_bytes, memory_order_acquire);
  size_t off = (uintptr_t)item - (uintptr_t)atomic_load_explicit(&table->start, memory_order_relaxed);
  *index = off / item_bytes;
  return off < usable && off % item_bytes == 0;
}

#endif
