/* dwarf_units.h - finds the compilation unit and the function that contain an address
 *
 * unit       the debug information from one run of the compiler, in .debug_info. With -gsplit-dwarf, the file has a
 *            skeleton of it, and a .dwo file has the rest.
 * function   a DIE (an entry of .debug_info) with its own code; not one that exists only inlined.
 */
#ifndef HWI_SYMBOLS_DWARF_UNITS_H
#define HWI_SYMBOLS_DWARF_UNITS_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hwi_code_range {
  uint64_t start, end;
  uint64_t reach; /* the largest end of this range and all before it; valid after sorting */
  size_t item;    /* index of a unit or function */
};

/* Address ranges of code, each for an item. All zero is an empty map. */
struct hwi_code_map {
  struct hwi_code_range *ranges;
  size_t count, capacity;
};

struct hwi_dwarf_unit {
  Dwarf_Die head;       /* of the unit or its skeleton: has the line table and the compilation directory */
  Dwarf_Die code;       /* has the functions; not valid before the first look-up in the unit */
  Dwarf_Die *functions; /* indexed by the items of the maps */
  size_t function_count, function_capacity;
  struct hwi_code_map outer; /* functions at the top level and in namespaces */
  struct hwi_code_map all;   /* also nested functions (methods of local classes, lambdas) */
  bool outer_done, all_done;
};

/* The caller only sets `dwarf` and `dir`: the units are listed at the first look-up. */
struct hwi_dwarf_units {
  Dwarf *dwarf;
  const char *dir; /* of the file with the debug information; owned by the caller. NULL: none */
  struct hwi_dwarf_unit *units;
  size_t count, capacity;
  struct hwi_code_map map;
  bool listed;
  bool has_split; /* some of them have their functions in .dwo files */
};

/* Returns the DIE with the contents of a unit: its head, or the split unit that belongs to a skeleton, if that is found. `dir` is where
 * the file is; NULL: not known. */
Dwarf_Die hwi_dwarf_unit_code(Dwarf_Die *head, const char *dir);

/* Returns the unit around `address`, or NULL. */
struct hwi_dwarf_unit *hwi_dwarf_units_find(struct hwi_dwarf_units *units, uint64_t address);

/* Returns the function around `address` in `unit`, which is one of `units`, or NULL. */
Dwarf_Die *hwi_dwarf_units_function(const struct hwi_dwarf_units *units, struct hwi_dwarf_unit *unit, uint64_t address);

void hwi_dwarf_units_release(struct hwi_dwarf_units *units);

#endif
