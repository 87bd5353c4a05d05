/* table.h - memory for hash tables and lists that grow large
 *
 * Large ones grow where they are, or are moved page by page: what they touched once they keep, since new pages cost more than all
 * look-ups of a table that grows. What lies behind that is not touched, so that it costs nothing to make a list twice as long.
 * Hash tables are whole huge pages, without which most look-ups would miss the TLB, too. Small ones begin with a cache line.
 */
#ifndef HWI_PROFILE_TABLE_H
#define HWI_PROFILE_TABLE_H

#include <stdbool.h>
#include <stddef.h>

/* A hash table, zeroed; NULL: no memory. */
void *hwi_table_create(size_t bytes);
void hwi_table_release(void *table, size_t bytes); /* NULL is fine */

/* The same table, or where it lies now, with zeros behind it up to `larger` bytes. NULL: no memory, and nothing changed. */
void *hwi_table_enlarge(void *table, size_t bytes, size_t larger);

/* As hwi_grow, of a list that may grow large: makes room for at least `needed` items. Released as *capacity of them. */
bool hwi_table_grow(void **table, size_t *capacity, size_t needed, size_t item_bytes);

#endif
