/* die_name.c - the name of a function in debug information, as its user would write it
 *
 * Functions with external linkage have their mangled name. Static ones, those of unnamed namespaces and lambdas have a bare
 * name alone, and DIEs do not know their parents. But they lie in the file in the order of the tree: of a row of siblings
 * the last one that begins before a DIE is the one around it. So the way from the unit down to a DIE is found without
 * looking into anything beside it.
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

static bool is_type(Dwarf_Die *die)
{
  int tag = dwarf_tag(die);
  return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type ||
         tag == DW_TAG_interface_type;
}

/* The type of a lambda has no name: the line tells it from its neighbours. */
static char *unnamed_type(Dwarf_Die *type)
{
  Dwarf_Attribute attribute;
  Dwarf_Word line = 0;
  char text[sizeof ":18446744073709551615"] = "";
  if (dwarf_formudata(dwarf_attr(type, DW_AT_decl_line, &attribute), &line) == 0)
    snprintf(text, sizeof text, ":%" PRIu64, line);
  return hwi_path_concat("{lambda", text, "}", NULL);
}

/* How a scope shows in a name; the caller frees it. NULL: not at all. */
static char *scope_name(Dwarf_Die *scope)
{
  const char *name = string_at(scope, DW_AT_name);
  if (dwarf_tag(scope) == DW_TAG_namespace)
    return strdup(name ? name : "(anonymous namespace)");
  if (is_type(scope))
    return name ? strdup(name) : unnamed_type(scope);
  return NULL;
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

/* Frees `scopes`. A function has its own scopes in its name. */
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
