/* table.c - memory for hash tables that grow large and are walked at random */
#include "profile/table.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE_BYTES ((size_t)1 << 21)

static bool is_large(size_t bytes)
{
  return bytes >= HUGE_PAGE_BYTES;
}

/* Of room for `bytes` from a huge page's start, mapped with as much as a huge page more: gives back what is around it. */
static char *trim(char *room, size_t bytes)
{
  char *table = room + (-(uintptr_t)room & (HUGE_PAGE_BYTES - 1));
  if (table > room)
    munmap(room, (size_t)(table - room));
  munmap(table + bytes, HUGE_PAGE_BYTES - (size_t)(table - room));
  return table;
}

/* Whole huge pages; NULL: no memory. */
static char *map_pages(size_t bytes)
{
  char *room = mmap(NULL, bytes + HUGE_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return room == MAP_FAILED ? NULL : trim(room, bytes);
}

void *hwi_table_create(size_t bytes)
{
  if (!is_large(bytes))
    return calloc(1, bytes);
  void *table = map_pages(bytes);
  if (table)
    madvise(table, bytes, MADV_HUGEPAGE); /* as good as it goes */
  return table;
}

void hwi_table_release(void *table, size_t bytes)
{
  if (!is_large(bytes))
    free(table);
  else if (table)
    munmap(table, bytes);
}

static void *double_by_copying(void *table, size_t bytes)
{
  void *larger = hwi_table_create(2 * bytes);
  if (!larger)
    return NULL;
  memcpy(larger, table, bytes);
  hwi_table_release(table, bytes);
  return larger;
}

void *hwi_table_double(void *table, size_t bytes)
{
  if (!is_large(bytes))
    return double_by_copying(table, bytes);
  char *larger = map_pages(2 * bytes);
  if (!larger)
    return NULL;
  if (mremap(table, bytes, 2 * bytes, MREMAP_MAYMOVE | MREMAP_FIXED, larger) != MAP_FAILED)
    return larger;
  munmap(larger, 2 * bytes);
  return double_by_copying(table, bytes);
}
