/* recode_table.h - hash tables of the packer: from a key to the index of an item in an array, where items are numbered
 * from 1
 *
 * Open addressing with linear probing, at most half full; nothing is removed. 0 in a slot: empty.
 */
#ifndef HWI_TRACE_PACK_RECODE_TABLE_H
#define HWI_TRACE_PACK_RECODE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { HWI_RECODE_TABLE_LOG2_MIN = 10, HWI_RECODE_TABLE_LOG2_MAX = 30 };

struct hwi_recode_table {
  uint32_t *slots;
  uint32_t mask; /* the number of slots, a power of two, minus 1 */
  uint32_t count;
};

/* Empties the table, with room for `expected` items. Returns false if there is no memory. */
static inline bool hwi_recode_table_reset(struct hwi_recode_table *table, size_t expected)
{
  uint32_t log2 = HWI_RECODE_TABLE_LOG2_MIN;
  while (expected >> (log2 - 1) && log2 < HWI_RECODE_TABLE_LOG2_MAX)
    log2++;
  uint32_t mask = (UINT32_C(1) << log2) - 1;
  if (mask != table->mask) {
    free(table->slots);
    table->slots = malloc(sizeof *table->slots << log2);
    table->mask = table->slots ? mask : 0;
  }
  table->count = 0;
  if (table->slots)
    memset(table->slots, 0, sizeof *table->slots << log2);
  return table->slots;
}

static inline void hwi_recode_table_release(struct hwi_recode_table *table)
{
  free(table->slots);
  *table = (struct hwi_recode_table){0};
}

/* Returns whether the table must grow before `more` items are added. */
static inline bool hwi_recode_table_is_full(const struct hwi_recode_table *table, size_t more)
{
  return table->count + more > table->mask / 2;
}

static inline uint32_t hwi_recode_table_mix(uint64_t key)
{
  return (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

#endif
