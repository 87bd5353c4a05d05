/* die_name.c - the name of a function in debug information, as its user would write it
 *
 * Functions with external linkage have their mangled name. Static ones, those of unnamed namespaces and lambdas have a bare
 * name alone, and DIEs do not know their parents. But they lie in the file in the order of the tree: of a row of siblings
 * the last one that begins before a DIE is the one around it. So the way from the unit down to a DIE is found without
 * looking into anything beside it.
 */
#include "symbols/die_name.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/demangle.h"
#include "symbols/paths.h"

enum { MOST_REFERENCES = 8, DEEPEST_SCOPE = 64 };

/* Follows abstract_origin and specification to the DIE that was written first; *die is changed. */
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

/* How a scope shows in a name; NULL: not at all. */
static const char *scope_name(Dwarf_Die *scope)
{
  switch (dwarf_tag(scope)) {
  case DW_TAG_namespace: {
    const char *name = string_at(scope, DW_AT_name);
    return name ? name : "(anonymous namespace)";
  }
  case DW_TAG_structure_type:
  case DW_TAG_class_type:
  case DW_TAG_union_type:
  case DW_TAG_interface_type: {
    const char *name = string_at(scope, DW_AT_name);
    return name ? name : "{unnamed type}";
  }
  default:
    return NULL;
  }
}

/* The last child of *scope that begins at `target` or before becomes *scope. */
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

static char *append_scope(char *scopes, Dwarf_Die *scope)
{
  char *function = NULL;
  const char *name = scope_name(scope);
  if (dwarf_tag(scope) == DW_TAG_subprogram) {
    bool linked;
    function = hwi_die_name(scope, &linked);
    name = function;
  }
  if (!name)
    return scopes;
  char *longer;
  if (function) /* it has its scopes itself */
    longer = hwi_path_concat(name, strchr(name, '(') ? "" : "()", "::", NULL);
  else
    longer = hwi_path_concat(scopes ? scopes : "", name, "::", NULL);
  free(function);
  free(scopes);
  return longer;
}

/* "ns::Class::" for a DIE in them; NULL: it is in none. */
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

char *hwi_die_name(Dwarf_Die *die, bool *linked)
{
  Dwarf_Die origin = *die;
  const char *bare = NULL;
  *linked = false;
  for (unsigned i = 0; i < MOST_REFERENCES; i++) {
    const char *link = linkage_name(&origin);
    if (link) {
      *linked = true;
      return hwi_demangle(link);
    }
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
