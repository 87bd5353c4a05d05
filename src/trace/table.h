/* table.h - memory for hash tables, and for lists that grow with the recording: nodes, frames, stacks, cells
 *
 * grow.h is for lists that stay short.
 * Large tables consist of whole huge pages: the kernel has to provide few of them, and with small pages most look-ups
 * would miss the TLB. A large table grows in place, or its pages are remapped. It keeps the pages that it has touched,
 * since new pages cost more than all look-ups in a growing table. Memory beyond those is not touched, so that doubling
 * a list costs nothing. Small tables begin at a cache line.
 */
#ifndef HWI_TRACE_TABLE_H
#define HWI_TRACE_TABLE_H

#include <stdbool.h>
#include <stddef.h>

/* Returns a zeroed hash table, or NULL if there is no memory. */
void *hwi_table_create(size_t bytes);
void hwi_table_release(void *table, size_t bytes); /* NULL is fine */

/* Enlarges a table from `bytes` to `larger` bytes; the new bytes are zero. Returns the table, which may have moved, or
 * NULL if there is no memory; then nothing is changed. */
void *hwi_table_enlarge(void *table, size_t bytes, size_t larger);

/* The slow path of hwi_table_grow. */
bool hwi_table_lengthen(void **table, size_t *capacity, size_t needed, size_t item_bytes);

/* As hwi_grow, for a list that may grow large: makes room for at least `needed` items. The caller releases it with
 * hwi_table_release and the bytes of *capacity items. */
static inline bool hwi_table_grow(void **table, size_t *capacity, size_t needed, size_t item_bytes)
{
  return needed <= *capacity || hwi_table_lengthen(table, capacity, needed, item_bytes);
}

/* As calloc, for a list that may be long but does not grow; free releases it. For a long list, the kernel is asked to
 * use huge pages: with small pages it would be asked for a hundred thousand of them, which takes longer than filling
 * them. */
void *hwi_table_calloc(size_t count, size_t item_bytes);

#endif
