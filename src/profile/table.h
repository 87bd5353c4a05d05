/* table.h - memory for hash tables that grow large and are walked at random
 *
 * Large tables are whole huge pages, without which most look-ups would miss the TLB, too; and they grow where they are, or are
 * moved page by page: what a table touched once it keeps, since new pages cost more than all look-ups of a table that grows.
 */
#ifndef HWI_PROFILE_TABLE_H
#define HWI_PROFILE_TABLE_H

#include <stddef.h>

/* Zeroed; NULL: no memory. `bytes` is a power of two. */
void *hwi_table_create(size_t bytes);
void hwi_table_release(void *table, size_t bytes); /* NULL is fine */

/* The same table, or where it lies now, with as many zeros behind it. NULL: no memory, and nothing changed. */
void *hwi_table_double(void *table, size_t bytes);

#endif
