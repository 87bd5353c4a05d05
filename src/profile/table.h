/* table.h - memory for hash tables that grow large and are walked at random */
#ifndef HWI_PROFILE_TABLE_H
#define HWI_PROFILE_TABLE_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Zeroed; to be freed with free(). From 2 MiB on `bytes` is whole pages. Without huge pages most look-ups in a large table
 * would miss the TLB, too. */
static inline void *hwi_table_create(size_t bytes)
{
  const size_t huge_page_bytes = (size_t)1 << 21;
  if (bytes < huge_page_bytes)
    return calloc(1, bytes);
  size_t whole_bytes = (bytes + huge_page_bytes - 1) & ~(huge_page_bytes - 1); /* aligned_alloc wants a multiple */
  void *table = aligned_alloc(huge_page_bytes, whole_bytes);
  if (!table)
    return NULL;
  if (madvise(table, bytes, MADV_DONTNEED) != 0) /* else it is zero, and takes no memory before it is used */
    memset(table, 0, bytes);
  madvise(table, bytes, MADV_HUGEPAGE); /* as good as it goes */
  return table;
}

/* Of such a table, `before` bytes are given back already; now those up to `end` are, as far as that is worth a call. Returns what
 * is given back in all. The table is to be freed all the same. */
static inline size_t hwi_table_give_back(void *table, size_t bytes, size_t before, size_t end)
{
  const size_t huge_page_bytes = (size_t)1 << 21;
  if (bytes < huge_page_bytes || end - before < huge_page_bytes)
    return before;
  end &= ~(huge_page_bytes - 1);
  madvise((char *)table + before, end - before, MADV_DONTNEED);
  return end;
}

#endif
