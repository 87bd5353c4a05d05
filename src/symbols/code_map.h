/* code_map.h - maps address ranges of code to items of the caller */
#ifndef HWI_SYMBOLS_CODE_MAP_H
#define HWI_SYMBOLS_CODE_MAP_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hwi_code_range {
  uint64_t start, end;
  uint64_t reach; /* the largest end of this range and all before it; valid after sorting */
  size_t item;    /* the caller's number for the range */
};

/* All zero is an empty map. */
struct hwi_code_map {
  struct hwi_code_range *ranges;
  size_t count, capacity;
};

/* Adds all ranges of `die` for `item`. Returns false if there is no memory, or `die` has more ranges than any real
 * file. */
bool hwi_code_map_add(struct hwi_code_map *map, Dwarf_Die *die, size_t item);

/* To be called after the last hwi_code_map_add, before the first look-up. */
void hwi_code_map_finish(struct hwi_code_map *map);

/* Returns the range around `address` that begins last, or NULL. */
const struct hwi_code_range *hwi_code_map_find(const struct hwi_code_map *map, uint64_t address);

void hwi_code_map_release(struct hwi_code_map *map);

#endif
