/* table.h - memory for hash tables that grow large and are walked at random */
#ifndef HWI_PROFILE_TABLE_H
#define HWI_PROFILE_TABLE_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Zeroed; to be freed with free(). `bytes` is a power of two. Without huge pages most look-ups in a large table would miss the
 * TLB, too. */
static inline void *hwi_table_create(size_t bytes)
{
  const size_t huge_page_bytes = (size_t)1 << 21;
  if (bytes < huge_page_bytes)
    return calloc(1, bytes);
  void *table = aligned_alloc(huge_page_bytes, bytes);
  if (!table)
    return NULL;
  madvise(table, bytes, MADV_HUGEPAGE); /* as good as it goes */
  return memset(table, 0, bytes);
}

#endif
