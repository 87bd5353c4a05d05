/* die_name.c - the name of a function in debug information, as in the source
 *
 * Functions with external linkage have their mangled name in the debug information. Static functions, those in unnamed
 * namespaces and lambdas have only an unqualified name, and a DIE has no link to its parent. But DIEs are stored in the
 * order of the tree: of several siblings, the last one that begins before a DIE contains it. So the path from the unit
 * down to a DIE is found without reading other branches.
 */
#include "symbols/die_name.h"

#include <dwarf.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/demangle.h"
#include "symbols/paths.h"

enum { MOST_REFERENCES = 8, DEEPEST_SCOPE = 64 };

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
  char *name = is_function ? hwi_die_name(scope) : scope_name(scope);
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

char *hwi_die_name(Dwarf_Die *die)
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
