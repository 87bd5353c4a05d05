/* units.c - finds the compilation unit and the function that contain an address
 *
 * A debug file may have a gigabyte, but look-ups only concern a few of its units. So the first look-up reads the head
 * of each unit, which has its address ranges (.debug_aranges has them too, but clang writes none and dwz drops some).
 * The functions of a unit are listed at the first look-up in it: first those at the top level, and only if these do not
 * cover the address also the nested ones, for which every DIE of the unit must be read.
 */
#include "symbols/units.h"

#include <dwarf.h>
#include <stdlib.h>

#include "symbols/elf_file.h"
#include "symbols/paths.h"
#include "trace/grow.h"

enum { DEEPEST_DIE = 256 }; /* of nested DIEs; only a forged file has more */

static void list_units(struct hwi_units *units)
{
  Dwarf_CU *unit = NULL;
  uint8_t type;
  Dwarf_Die head;
  units->listed = true;
  while (dwarf_get_units(units->dwarf, unit, &unit, NULL, &type, &head, NULL) == 0) {
    if (type != DW_UT_compile && type != DW_UT_skeleton)
      continue;
    units->has_split |= type == DW_UT_skeleton;
    if (!hwi_grow((void **)&units->units, &units->capacity, units->count + 1, sizeof *units->units))
      break;
    units->units[units->count].head = head;
    if (!hwi_code_map_add(&units->map, &head, units->count++))
      break;
  }
  hwi_code_map_finish(&units->map);
}

struct hwi_unit *hwi_units_find(struct hwi_units *units, uint64_t address)
{
  if (!units->listed)
    list_units(units);
  const struct hwi_code_range *range = hwi_code_map_find(&units->map, address);
  return range ? &units->units[range->item] : NULL;
}

static const char *text_of(Dwarf_Die *die, unsigned name)
{
  Dwarf_Attribute attribute;
  return dwarf_formstring(dwarf_attr(die, name, &attribute));
}

static bool is_harmless_below(const char *dir, const char *name)
{
  char *path = hwi_path_concat(dir ? dir : "", "/", name, NULL);
  bool harmless = path && hwi_path_is_harmless(path);
  free(path);
  return harmless;
}

/* libdw finds and opens the .dwo file itself, and would block on a FIFO. */
static bool split_is_harmless(const char *dir, Dwarf_Die *head)
{
  const char *name = text_of(head, DW_AT_dwo_name);
  if (!name)
    name = text_of(head, DW_AT_GNU_dwo_name);
  if (!name || name[0] == '/')
    return name && hwi_path_is_harmless(name);
  return is_harmless_below(dir, name) && is_harmless_below(text_of(head, DW_AT_comp_dir), name);
}

/* Sets unit->code: the head of an ordinary unit, or the split unit of a skeleton. */
static void find_code(struct hwi_unit *unit, const char *dir)
{
  uint8_t type;
  Dwarf_Die split;
  unit->code = unit->head;
  if (dwarf_cu_info(unit->head.cu, NULL, &type, NULL, NULL, NULL, NULL, NULL) != 0 || type != DW_UT_skeleton)
    return;
  if (split_is_harmless(dir, &unit->head) &&
      dwarf_cu_info(unit->head.cu, NULL, NULL, NULL, &split, NULL, NULL, NULL) == 0 && split.addr)
    unit->code = split;
}

static bool add_function(struct hwi_unit *unit, struct hwi_code_map *map, Dwarf_Die *die)
{
  size_t before = map->count;
  if (!hwi_code_map_add(map, die, unit->function_count))
    return false;
  if (map->count == before)
    return true; /* a declaration, or inlined everywhere */
  if (!hwi_grow((void **)&unit->functions, &unit->function_capacity, unit->function_count + 1,
                sizeof *unit->functions)) {
    map->count = before;
    return false;
  }
  unit->functions[unit->function_count++] = *die;
  return true;
}

static bool is_outer_scope(int tag)
{
  return tag == DW_TAG_namespace || tag == DW_TAG_module;
}

/* Lists the functions below `parent`. In a damaged file a sibling may be at a lower offset: offsets must increase. */
static bool list_functions(struct hwi_unit *unit, struct hwi_code_map *map, Dwarf_Die *parent, unsigned depth)
{
  bool nested = map == &unit->all;
  Dwarf_Die die;
  if (depth > DEEPEST_DIE || dwarf_child(parent, &die) != 0)
    return true;
  for (;;) {
    int tag = dwarf_tag(&die);
    if (tag == DW_TAG_subprogram && !add_function(unit, map, &die))
      return false;
    if (dwarf_haschildren(&die) > 0 && (nested || is_outer_scope(tag)) && !list_functions(unit, map, &die, depth + 1))
      return false;
    Dwarf_Off here = dwarf_dieoffset(&die);
    if (dwarf_siblingof(&die, &die) != 0 || dwarf_dieoffset(&die) <= here)
      return true;
  }
}

Dwarf_Die *hwi_units_function(const struct hwi_units *units, struct hwi_unit *unit, uint64_t address)
{
  if (!unit->outer_done) {
    unit->outer_done = true;
    find_code(unit, units->dir);
    list_functions(unit, &unit->outer, &unit->code, 0);
    hwi_code_map_finish(&unit->outer);
  }
  const struct hwi_code_range *range = hwi_code_map_find(&unit->outer, address);
  if (!range && !unit->all_done) {
    unit->all_done = true;
    list_functions(unit, &unit->all, &unit->code, 0);
    hwi_code_map_finish(&unit->all);
  }
  if (!range)
    range = hwi_code_map_find(&unit->all, address);
  return range ? &unit->functions[range->item] : NULL;
}

void hwi_units_release(struct hwi_units *units)
{
  for (size_t i = 0; i < units->count; i++) {
    free(units->units[i].functions);
    hwi_code_map_release(&units->units[i].outer);
    hwi_code_map_release(&units->units[i].all);
  }
  free(units->units);
  hwi_code_map_release(&units->map);
  *units = (struct hwi_units){0};
}
