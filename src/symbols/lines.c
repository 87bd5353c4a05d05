/* lines.c - the frames at an address, from debug information
 *
 * The line table has the source line of the innermost code. Each inlined function around it has a DIE with the line of
 * its call: that is the line of the next frame outward.
 */
#include "symbols/lines.h"

#include <dwarf.h>
#include <stdlib.h>

#include "symbols/die_name.h"
#include "symbols/paths.h"
#include "trace/grow.h"

enum { DEEPEST_DIE = 512 }; /* of nested DIEs; only a forged file has more */

struct place {
  const char *file;
  uint32_t line;
};

/* The state of one look-up. */
struct lookup {
  struct hwi_unit *unit;
  struct hwi_store *store;
  uint64_t address;
  Dwarf_Die *inlined; /* outermost first */
  size_t inlined_count, inlined_capacity;
};

/* libdw has joined the compilation directory to most names. A relative compilation directory (distributions remove
 * their build folders from it) is already in the name, or useless. */
static const char *plain_file(struct lookup *lookup, const char *name)
{
  Dwarf_Attribute attribute;
  if (!name || !name[0])
    return NULL;
  const char *dir = dwarf_formstring(dwarf_attr(&lookup->unit->head, DW_AT_comp_dir, &attribute));
  char *path = hwi_path_join(dir && dir[0] == '/' ? dir : NULL, name);
  const char *kept = hwi_store_string(lookup->store, path);
  free(path);
  return kept;
}

/* Returns the index of the last row at `address` or before, plus one. */
static size_t rows_up_to(Dwarf_Lines *lines, size_t count, uint64_t address)
{
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    Dwarf_Addr at = 0;
    dwarf_lineaddr(dwarf_onesrcline(lines, middle), &at);
    if (at <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Line 0 is code that the compiler generated: the line before it is used. */
static struct place place_of_address(struct lookup *lookup)
{
  struct place place = {0};
  Dwarf_Lines *lines;
  size_t count;
  if (dwarf_getsrclines(&lookup->unit->head, &lines, &count) != 0)
    return place;
  for (size_t at = rows_up_to(lines, count, lookup->address); at > 0; at--) {
    Dwarf_Line *row = dwarf_onesrcline(lines, at - 1);
    bool ends = true;
    int line = 0;
    if (dwarf_lineendsequence(row, &ends) != 0 || ends)
      break;
    if (dwarf_lineno(row, &line) == 0 && line > 0) {
      place.file = plain_file(lookup, dwarf_linesrc(row, NULL, NULL));
      place.line = (uint32_t)line;
      break;
    }
  }
  return place;
}

static struct place place_of_call(struct lookup *lookup, Dwarf_Die *inlined)
{
  struct place place = {0};
  Dwarf_Attribute attribute;
  Dwarf_Word file = 0, line = 0;
  Dwarf_Files *files;
  size_t count;
  if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &line) != 0 || line > UINT32_MAX)
    return place;
  place.line = (uint32_t)line;
  if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &file) == 0 &&
      dwarf_getsrcfiles(&lookup->unit->code, &files, &count) == 0 && file < count)
    place.file = plain_file(lookup, dwarf_filesrc(files, file, NULL, NULL));
  return place;
}

/* A block without addresses may cover any address, since its contents may: so its contents are searched. */
static bool may_cover(Dwarf_Die *die, uint64_t address)
{
  if (dwarf_hasattr(die, DW_AT_low_pc) || dwarf_hasattr(die, DW_AT_ranges))
    return dwarf_haspc(die, address) > 0;
  return dwarf_tag(die) == DW_TAG_lexical_block;
}

static bool is_block(int tag)
{
  return tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block ||
         tag == DW_TAG_inlined_subroutine;
}

/* Collects the inlined functions below `parent` around the address. Returns true if it found any, or has no memory for
 * more. */
static bool collect_inlined(struct lookup *lookup, Dwarf_Die *parent, unsigned depth)
{
  Dwarf_Die die;
  if (depth > DEEPEST_DIE || dwarf_child(parent, &die) != 0)
    return false;
  for (;;) {
    if (is_block(dwarf_tag(&die)) && may_cover(&die, lookup->address)) {
      bool inlined = dwarf_tag(&die) == DW_TAG_inlined_subroutine;
      if (inlined) {
        if (!hwi_grow((void **)&lookup->inlined, &lookup->inlined_capacity, lookup->inlined_count + 1, sizeof die))
          return true;
        lookup->inlined[lookup->inlined_count++] = die;
      }
      if (collect_inlined(lookup, &die, depth + 1) || inlined)
        return true;
    }
    Dwarf_Off here = dwarf_dieoffset(&die);
    if (dwarf_siblingof(&die, &die) != 0 || dwarf_dieoffset(&die) <= here)
      return false; /* the last one, or a damaged file refers back */
  }
}

static const char *kept_name(struct lookup *lookup, Dwarf_Die *die)
{
  char *name = hwi_die_name(die);
  const char *kept = hwi_store_string(lookup->store, name);
  free(name);
  return kept;
}

static void append(struct hwi_frame_list *frames, const char *function, struct place place, bool inlined)
{
  if (!hwi_grow((void **)&frames->list, &frames->capacity, frames->count + 1, sizeof *frames->list))
    return;
  enum hwi_symbol_reason reason = HWI_SYMBOL_OK;
  if (!function)
    reason = HWI_SYMBOL_STRIPPED;
  else if (!place.file || place.line == 0)
    reason = HWI_SYMBOL_NO_LINES;
  frames->list[frames->count++] = (struct hwi_symbol){
      .function = function, .file = place.file, .line = place.line, .inlined = inlined, .reason = reason};
}

void hwi_lines_find(struct hwi_frame_list *frames, struct hwi_units *units, uint64_t address, struct hwi_store *store)
{
  struct hwi_unit *unit = hwi_units_find(units, address);
  if (!unit)
    return;
  struct lookup lookup = {.unit = unit, .store = store, .address = address};
  Dwarf_Die *function = hwi_units_function(units, unit, address);
  struct place place = place_of_address(&lookup);
  if (function)
    collect_inlined(&lookup, function, 0);
  for (size_t i = lookup.inlined_count; i > 0; i--) {
    append(frames, kept_name(&lookup, &lookup.inlined[i - 1]), place, true);
    place = place_of_call(&lookup, &lookup.inlined[i - 1]);
  }
  if (function || place.line > 0)
    append(frames, function ? kept_name(&lookup, function) : NULL, place, false);
  free(lookup.inlined);
}
