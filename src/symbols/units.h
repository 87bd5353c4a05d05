/* units.h - from an address to the compilation unit and the function that it lies in
 *
 * unit       what one run of the compiler made, as .debug_info has it. With -gsplit-dwarf the file holds a skeleton of it, and
 *            a .dwo file the rest.
 * function   a DIE (an entry of .debug_info) with code of its own; not one that exists only inlined.
 */
#ifndef HWI_SYMBOLS_UNITS_H
#define HWI_SYMBOLS_UNITS_H

#include "symbols/code_map.h"

struct hwi_unit {
  Dwarf_Die head;       /* of the unit, or of its skeleton: has the line table and the compilation directory */
  Dwarf_Die code;       /* where the functions are; not valid before the unit was asked for */
  Dwarf_Die *functions; /* what the maps' items mean */
  size_t function_count, function_capacity;
  struct hwi_code_map outer; /* of functions at the outside and in namespaces */
  struct hwi_code_map all;   /* of nested ones as well (methods of local classes, lambdas) */
  bool outer_done, all_done;
};

/* Only `dwarf` and `dir` are to be set: the units are listed at the first look-up. */
struct hwi_units {
  Dwarf *dwarf;
  const char *dir; /* of the file that holds the debug information; owned by the caller. NULL: none */
  struct hwi_unit *units;
  size_t count, capacity;
  struct hwi_code_map map;
  bool listed;
  bool has_split; /* some of them have their functions in .dwo files */
};

/* The unit around `address`, or NULL. */
struct hwi_unit *hwi_units_find(struct hwi_units *units, uint64_t address);

/* The function of `unit`, one of `units`, around `address`, or NULL. */
Dwarf_Die *hwi_units_function(const struct hwi_units *units, struct hwi_unit *unit, uint64_t address);

void hwi_units_release(struct hwi_units *units);

#endif
