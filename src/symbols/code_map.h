/* code_map.h - address ranges of code, and what lies in them */
#ifndef HWI_SYMBOLS_CODE_MAP_H
#define HWI_SYMBOLS_CODE_MAP_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hwi_code_range {
  uint64_t start, end;
  uint64_t reach; /* the largest end up to here, once sorted */
  size_t item;    /* the caller's */
};

/* All zero is an empty map. */
struct hwi_code_map {
  struct hwi_code_range *ranges;
  size_t count, capacity;
};

/* Adds all ranges of `die` for `item`. False: no memory, or more ranges than any real file has. */
bool hwi_code_map_add(struct hwi_code_map *map, Dwarf_Die *die, size_t item);

/* To be called after the last hwi_code_map_add, before the first look-up. */
void hwi_code_map_finish(struct hwi_code_map *map);

/* The range around `address` that begins last, or NULL. */
const struct hwi_code_range *hwi_code_map_find(const struct hwi_code_map *map, uint64_t address);

void hwi_code_map_release(struct hwi_code_map *map);

#endif
