/* table.c - memory for hash tables and lists that grow large */
#include "trace/table.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "platform/os.h"
#include "platform/os_large.h"

enum { LINE_BYTES = 64, FIRST_ITEMS = 16 };

static bool is_large(size_t bytes)
{
  return bytes >= HWI_OS_HUGE_PAGE_BYTES;
}

/* Returns the size of a large table in memory. */
static size_t whole_pages(size_t bytes)
{
  return (bytes + HWI_OS_HUGE_PAGE_BYTES - 1) & ~(HWI_OS_HUGE_PAGE_BYTES - 1);
}

static void *create_small(size_t bytes)
{
  const size_t lines = (bytes + LINE_BYTES - 1) & ~(size_t)(LINE_BYTES - 1);
  void *table = aligned_alloc(LINE_BYTES, lines);
  return table ? memset(table, 0, lines) : NULL;
}

void *hwi_table_create(size_t bytes)
{
  if (!is_large(bytes))
    return create_small(bytes);
  void *table = hwi_os_map_large(whole_pages(bytes));
  if (table)
    hwi_os_wish_for_huge_pages(table, whole_pages(bytes));
  return table;
}

void hwi_table_release(void *table, size_t bytes)
{
  if (!is_large(bytes))
    free(table);
  else if (table)
    hwi_os_unmap(table, whole_pages(bytes));
}

static void *enlarge_by_copying(void *table, size_t bytes, size_t larger)
{
  void *made = hwi_table_create(larger);
  if (!made)
    return NULL;
  if (bytes)
    memcpy(made, table, bytes);
  hwi_table_release(table, bytes);
  return made;
}

void *hwi_table_enlarge(void *table, size_t bytes, size_t larger)
{
  if (!is_large(bytes))
    return enlarge_by_copying(table, bytes, larger);
  const size_t now = whole_pages(bytes), then = whole_pages(larger);
  void *made = now == then ? table : hwi_os_enlarge(table, now, then);
  return made ? made : enlarge_by_copying(table, bytes, larger);
}

bool hwi_table_lengthen(void **table, size_t *capacity, size_t needed, size_t item_bytes)
{
  size_t wanted = *capacity ? *capacity : FIRST_ITEMS;
  while (wanted < needed && wanted <= SIZE_MAX / 2)
    wanted *= 2;
  if (wanted < needed || wanted > (SIZE_MAX / 2 - HWI_OS_HUGE_PAGE_BYTES) / item_bytes)
    return false;
  void *made = hwi_table_enlarge(*table, *capacity * item_bytes, wanted * item_bytes);
  if (!made)
    return false;
  *table = made;
  *capacity = wanted;
  return true;
}

void *hwi_table_calloc(size_t count, size_t item_bytes)
{
  void *list = calloc(count, item_bytes);
  if (!list || count * item_bytes < HWI_OS_HUGE_PAGE_BYTES)
    return list;
  const uintptr_t start = ((uintptr_t)list + HWI_OS_HUGE_PAGE_BYTES - 1) & -(uintptr_t)HWI_OS_HUGE_PAGE_BYTES;
  const uintptr_t end = ((uintptr_t)list + count * item_bytes) & -(uintptr_t)HWI_OS_HUGE_PAGE_BYTES;
  if (end > start)
    hwi_os_wish_for_huge_pages((void *)start, end - start);
  return list;
}
