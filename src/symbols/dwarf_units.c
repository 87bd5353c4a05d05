/* dwarf_units.c - finds the compilation unit and the function that contain an address
 *
 * A debug file may have a gigabyte, but look-ups only concern a few of its units. So the first look-up reads the head
 * of each unit, which has its address ranges (.debug_aranges has them too, but clang writes none and dwz drops some).
 * The functions of a unit are listed at the first look-up in it: first those at the top level, and only if these do not
 * cover the address also the nested ones, for which every DIE of the unit must be read.
 */
#include "symbols/dwarf_units.h"

#include <dwarf.h>
#include <stdlib.h>

#include "symbols/elf_file.h"
#include "symbols/paths.h"
#include "trace/grow.h"

/* --- from an address to an item --- */

/* Ranges are sorted by their start; a search begins with the last range that begins at or before the address, and goes
 * back. Each range stores how far the ranges before it reach, so that the search stops as soon as none can cover the
 * address. */
enum {
  STEPS_BACK = 256,          /* through overlapping ranges; only a forged file needs more */
  MOST_RANGES = 1024 * 1024, /* of one unit or function */
  MOST_IN_MAP = 16 * MOST_RANGES,
};

/* Adds all ranges of `die` for `item`. Returns false if there is no memory, or `die` has more ranges than any real
 * file. */
static bool map_add(struct hwi_code_map *map, Dwarf_Die *die, size_t item)
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

/* To be called after the last map_add, before the first look-up. */
static void map_finish(struct hwi_code_map *map)
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

/* Returns the range around `address` that begins last, or NULL. */
static const struct hwi_code_range *map_find(const struct hwi_code_map *map, uint64_t address)
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

static void map_release(struct hwi_code_map *map)
{
  free(map->ranges);
  *map = (struct hwi_code_map){0};
}

/* --- units and functions --- */

enum { DEEPEST_DIE = 256 }; /* of nested DIEs; only a forged file has more */

static void list_units(struct hwi_dwarf_units *units)
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
    if (!map_add(&units->map, &head, units->count++))
      break;
  }
  map_finish(&units->map);
}

struct hwi_dwarf_unit *hwi_dwarf_units_find(struct hwi_dwarf_units *units, uint64_t address)
{
  if (!units->listed)
    list_units(units);
  const struct hwi_code_range *range = map_find(&units->map, address);
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

Dwarf_Die hwi_dwarf_unit_code(Dwarf_Die *head, const char *dir)
{
  uint8_t type;
  Dwarf_Die split;
  if (dwarf_cu_info(head->cu, NULL, &type, NULL, NULL, NULL, NULL, NULL) != 0 || type != DW_UT_skeleton)
    return *head;
  const bool is_found = split_is_harmless(dir, head) &&
                        dwarf_cu_info(head->cu, NULL, NULL, NULL, &split, NULL, NULL, NULL) == 0 && split.addr;
  return is_found ? split : *head;
}

static bool add_function(struct hwi_dwarf_unit *unit, struct hwi_code_map *map, Dwarf_Die *die)
{
  size_t before = map->count;
  if (!map_add(map, die, unit->function_count))
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
static bool list_functions(struct hwi_dwarf_unit *unit, struct hwi_code_map *map, Dwarf_Die *parent, unsigned depth)
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

Dwarf_Die *hwi_dwarf_units_function(const struct hwi_dwarf_units *units, struct hwi_dwarf_unit *unit, uint64_t address)
{
  if (!unit->outer_done) {
    unit->outer_done = true;
    unit->code = hwi_dwarf_unit_code(&unit->head, units->dir);
    list_functions(unit, &unit->outer, &unit->code, 0);
    map_finish(&unit->outer);
  }
  const struct hwi_code_range *range = map_find(&unit->outer, address);
  if (!range && !unit->all_done) {
    unit->all_done = true;
    list_functions(unit, &unit->all, &unit->code, 0);
    map_finish(&unit->all);
  }
  if (!range)
    range = map_find(&unit->all, address);
  return range ? &unit->functions[range->item] : NULL;
}

void hwi_dwarf_units_release(struct hwi_dwarf_units *units)
{
  for (size_t i = 0; i < units->count; i++) {
    free(units->units[i].functions);
    map_release(&units->units[i].outer);
    map_release(&units->units[i].all);
  }
  free(units->units);
  map_release(&units->map);
  *units = (struct hwi_dwarf_units){0};
}
