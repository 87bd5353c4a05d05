/* lines.c - the frames at an address, from debug information
 *
 * The line table has the source line of the innermost code. Each inlined function around it has a DIE with the line of
 * its call: that is the line of the next frame outward.
 */
#include "symbols/lines.h"

#include <dwarf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/demangle.h"
#include "symbols/paths.h"
#include "trace/grow.h"

/* --- the name of a function, as in the source --- */

/* Functions with external linkage have their mangled name in the debug information. Static functions, those in unnamed
 * namespaces and lambdas have only an unqualified name, and a DIE has no link to its parent. But DIEs are stored in the
 * order of the tree: of several siblings, the last one that begins before a DIE contains it. So the path from the unit
 * down to a DIE is found without reading other branches. */
enum { MOST_REFERENCES = 8, DEEPEST_SCOPE = 64 };

static char *die_name(Dwarf_Die *die);

/* Replaces *die by the DIE that its abstract_origin or specification refers to. Returns false if it has none. */
static bool step_to_origin(Dwarf_Die *die)
{
  Dwarf_Attribute attribute;
  if (!dwarf_attr(die, DW_AT_abstract_origin, &attribute) && !dwarf_attr(die, DW_AT_specification, &attribute))
    return false;
  Dwarf_Die origin;
  if (!dwarf_formref_die(&attribute, &origin))
    return false;
  *die = origin;
  return true;
}

static const char *string_at(Dwarf_Die *die, unsigned name)
{
  Dwarf_Attribute attribute;
  return dwarf_formstring(dwarf_attr(die, name, &attribute));
}

static const char *linkage_name(Dwarf_Die *die)
{
  const char *name = string_at(die, DW_AT_linkage_name);
  return name ? name : string_at(die, DW_AT_MIPS_linkage_name);
}

static bool is_type(Dwarf_Die *die)
{
  int tag = dwarf_tag(die);
  return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type ||
         tag == DW_TAG_interface_type;
}

/* The type of a lambda has no name: its line distinguishes it from others. */
static char *unnamed_type(Dwarf_Die *type)
{
  Dwarf_Attribute attribute;
  Dwarf_Word line = 0;
  char text[sizeof ":18446744073709551615"] = "";
  if (dwarf_formudata(dwarf_attr(type, DW_AT_decl_line, &attribute), &line) == 0)
    snprintf(text, sizeof text, ":%" PRIu64, line);
  return hwi_path_concat("{lambda", text, "}", NULL);
}

/* Returns the name of a scope, which the caller frees, or NULL if the scope is not part of names. */
static char *scope_name(Dwarf_Die *scope)
{
  const char *name = string_at(scope, DW_AT_name);
  if (dwarf_tag(scope) == DW_TAG_namespace)
    return strdup(name ? name : "(anonymous namespace)");
  if (is_type(scope))
    return name ? strdup(name) : unnamed_type(scope);
  return NULL;
}

/* Replaces *scope by its last child that begins at `target` or before. Returns false if there is none. */
static bool step_down(Dwarf_Die *scope, Dwarf_Off target)
{
  Dwarf_Die child, next;
  if (dwarf_child(scope, &child) != 0 || dwarf_dieoffset(&child) > target)
    return false;
  Dwarf_Off here = dwarf_dieoffset(&child);
  while (dwarf_siblingof(&child, &next) == 0) {
    Dwarf_Off there = dwarf_dieoffset(&next);
    if (there > target || there <= here)
      break;
    child = next;
    here = there;
  }
  *scope = child;
  return true;
}

/* Returns `scopes` with the name of `scope` appended, and frees `scopes`. The name of a function already includes its
 * scopes. */
static char *append_scope(char *scopes, Dwarf_Die *scope)
{
  bool is_function = dwarf_tag(scope) == DW_TAG_subprogram;
  char *name = is_function ? die_name(scope) : scope_name(scope);
  if (!name)
    return scopes;
  const char *before = is_function || !scopes ? "" : scopes;
  const char *after = is_function && !strchr(name, '(') ? "()::" : "::";
  char *longer = hwi_path_concat(before, name, after, NULL);
  free(name);
  free(scopes);
  return longer;
}

/* Returns the enclosing scopes of a DIE, as "ns::Class::", or NULL if there are none. */
static char *scopes_of(Dwarf_Die *die)
{
  Dwarf_Die scope;
  Dwarf_Off target = dwarf_dieoffset(die);
  char *scopes = NULL;
  if (!dwarf_diecu(die, &scope, NULL, NULL))
    return NULL;
  for (unsigned depth = 0; depth < DEEPEST_SCOPE && step_down(&scope, target); depth++) {
    if (dwarf_dieoffset(&scope) == target)
      break;
    scopes = append_scope(scopes, &scope);
  }
  return scopes;
}

/* `die` is a subprogram or an inlined one. Returns its demangled linkage name, or else its name with the names of its
 * enclosing scopes. The caller frees it. Returns NULL if there is no name or no memory. */
static char *die_name(Dwarf_Die *die)
{
  Dwarf_Die origin = *die;
  const char *bare = NULL;
  for (unsigned i = 0; i < MOST_REFERENCES; i++) {
    const char *link = linkage_name(&origin);
    if (link)
      return hwi_demangle(link);
    if (!bare)
      bare = string_at(&origin, DW_AT_name);
    if (!step_to_origin(&origin))
      break;
  }
  if (!bare)
    return NULL;
  char *scopes = scopes_of(&origin);
  char *name = hwi_path_concat(scopes ? scopes : "", bare, NULL);
  free(scopes);
  return name;
}

/* --- files and lines --- */

enum { DEEPEST_DIE = 512 }; /* of nested DIEs; only a forged file has more */

struct place {
  const char *file;
  uint32_t line;
};

/* The state of one look-up. */
struct lookup {
  struct hwi_dwarf_unit *unit;
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
  const char *stored = hwi_store_string(lookup->store, path);
  free(path);
  return stored;
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

/* --- frames --- */

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

static const char *stored_name(struct lookup *lookup, Dwarf_Die *die)
{
  char *name = die_name(die);
  const char *stored = hwi_store_string(lookup->store, name);
  free(name);
  return stored;
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

void hwi_lines_find(struct hwi_frame_list *frames, struct hwi_dwarf_units *units, uint64_t address,
                    struct hwi_store *store)
{
  struct hwi_dwarf_unit *unit = hwi_dwarf_units_find(units, address);
  if (!unit)
    return;
  struct lookup lookup = {.unit = unit, .store = store, .address = address};
  Dwarf_Die *function = hwi_dwarf_units_function(units, unit, address);
  struct place place = place_of_address(&lookup);
  if (function)
    collect_inlined(&lookup, function, 0);
  for (size_t i = lookup.inlined_count; i > 0; i--) {
    append(frames, stored_name(&lookup, &lookup.inlined[i - 1]), place, true);
    place = place_of_call(&lookup, &lookup.inlined[i - 1]);
  }
  if (function || place.line > 0)
    append(frames, function ? stored_name(&lookup, function) : NULL, place, false);
  free(lookup.inlined);
}
