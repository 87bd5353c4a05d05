/* table.h - memory for hash tables, and for lists that grow with what a recording defines or holds: nodes, frames, stacks, cells
 *
 * grow.h is for lists that stay short, and large.h for long ones whose length is known before.
 * Large ones are whole huge pages, of which the kernel has to give few, and without which most look-ups would miss the TLB. They
 * grow where they are, or are moved page by page: what they touched once they keep, since new pages cost more than all look-ups of
 * a table that grows. What lies behind that is not touched, so that it costs nothing to make a list twice as long. Small ones
 * begin with a cache line.
 */
#ifndef HWI_TRACE_TABLE_H
#define HWI_TRACE_TABLE_H

#include <stdbool.h>
#include <stddef.h>

/* A hash table, zeroed; NULL: no memory. */
void *hwi_table_create(size_t bytes);
void hwi_table_release(void *table, size_t bytes); /* NULL is fine */

/* The same table, or where it lies now, with zeros behind it up to `larger` bytes. NULL: no memory, and nothing changed. */
void *hwi_table_enlarge(void *table, size_t bytes, size_t larger);

/* Of a list that is too short. */
bool hwi_table_lengthen(void **table, size_t *capacity, size_t needed, size_t item_bytes);

/* As hwi_grow, of a list that may grow large: makes room for at least `needed` items. Released as *capacity of them. */
static inline bool hwi_table_grow(void **table, size_t *capacity, size_t needed, size_t item_bytes)
{
  return needed <= *capacity || hwi_table_lengthen(table, capacity, needed, item_bytes);
}

#endif
