/* code_map.c - maps address ranges of code to items of the caller
 *
 * Ranges are sorted by their start; a search begins with the last range that begins at or before the address, and goes
 * back. Each range stores how far the ranges before it reach, so that the search stops as soon as none can cover the
 * address.
 */
#include "symbols/code_map.h"

#include <stdlib.h>

#include "trace/grow.h"

enum {
  STEPS_BACK = 256,          /* through overlapping ranges; only a forged file needs more */
  MOST_RANGES = 1024 * 1024, /* of one unit or function */
  MOST_IN_MAP = 16 * MOST_RANGES,
};

bool hwi_code_map_add(struct hwi_code_map *map, Dwarf_Die *die, size_t item)
{
  ptrdiff_t next = 0;
  Dwarf_Addr base, start, end;
  for (size_t i = 0; i < MOST_RANGES && (next = dwarf_ranges(die, next, &base, &start, &end)) > 0; i++) {
    if (start == 0 || start >= end)
      continue; /* code that the linker dropped */
    if (map->count >= MOST_IN_MAP)
      return false;
    if (!hwi_grow((void **)&map->ranges, &map->capacity, map->count + 1, sizeof *map->ranges))
      return false;
    map->ranges[map->count++] = (struct hwi_code_range){.start = start, .end = end, .item = item};
  }
  return true;
}

static int by_start(const void *left, const void *right)
{
  const struct hwi_code_range *a = left, *b = right;
  if (a->start != b->start)
    return a->start < b->start ? -1 : 1;
  if (a->end != b->end)
    return a->end > b->end ? -1 : 1; /* the inner one last, so that it is found first */
  return a->item < b->item ? -1 : a->item > b->item;
}

void hwi_code_map_finish(struct hwi_code_map *map)
{
  if (map->count == 0)
    return;
  qsort(map->ranges, map->count, sizeof *map->ranges, by_start);
  uint64_t reach = 0;
  for (size_t i = 0; i < map->count; i++) {
    if (map->ranges[i].end > reach)
      reach = map->ranges[i].end;
    map->ranges[i].reach = reach;
  }
}

const struct hwi_code_range *hwi_code_map_find(const struct hwi_code_map *map, uint64_t address)
{
  size_t low = 0, high = map->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (map->ranges[middle].start <= address)
      low = middle + 1;
    else
      high = middle;
  }
  for (size_t steps = 0; low > 0 && steps < STEPS_BACK && map->ranges[low - 1].reach > address; low--, steps++) {
    if (map->ranges[low - 1].end > address)
      return &map->ranges[low - 1];
  }
  return NULL;
}

void hwi_code_map_release(struct hwi_code_map *map)
{
  free(map->ranges);
  *map = (struct hwi_code_map){0};
}
