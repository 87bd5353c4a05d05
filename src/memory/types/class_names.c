/* class_names.c - the names that C++ programs have of their own classes */
#include "memory/types/class_names.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "symbols/demangle.h"

enum { NAME_BYTES = 16384 }; /* with its NUL; those of templates are long */

static const char symbol_prefix[] = "_ZTV", shown_prefix[] = HWI_VTABLE_PREFIX;

/* Characters of mangled names, and those of other alphabets, which are not mangled. */
static bool is_of_name(unsigned char character)
{
  enum { ASCII_END = 0x80 };
  return isalnum(character) || character == '_' || character == '$' || character >= ASCII_END;
}

/* Reads a text that ends with NUL. Returns false if it is not all known, or has other characters. A name that only its own file
 * knows begins with '*'. */
static bool read_name(struct hwi_module_bytes *bytes, uint64_t address, char name[NAME_BYTES])
{
  size_t length = 0;
  for (bool is_first = true; length < NAME_BYTES; address++, is_first = false) {
    const unsigned char *at = hwi_module_bytes_at(bytes, address, 1);
    if (!at)
      return false;
    if (is_first && *at == '*')
      continue;
    name[length] = (char)*at;
    if (!*at)
      return length > 0;
    if (!is_of_name(*at))
      return false;
    length++;
  }
  return false;
}

/* Returns whether the type_info has the class that those of classes have. */
static bool is_of_class(struct hwi_module_bytes *bytes, uint64_t info)
{
  static const char *const kinds[] = {"N10__cxxabiv117__class_type_infoE", "N10__cxxabiv120__si_class_type_infoE",
                                      "N10__cxxabiv121__vmi_class_type_infoE"};
  const unsigned word = bytes->memory->word_bytes;
  char name[NAME_BYTES];
  uint64_t table, kind, name_at;
  if (!hwi_module_word(bytes, info, &table) || !hwi_module_word(bytes, table - word, &kind) ||
      !hwi_module_word(bytes, kind + word, &name_at))
    return false;
  if (!hwi_module_bytes_at(bytes, name_at, 1)) /* the C++ library of another machine, whose file is not here */
    return hwi_core_modules_of(bytes->modules, name_at);
  if (!read_name(bytes, name_at, name))
    return false;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (strcmp(name, kinds[i]) == 0)
      return true;
  return false;
}

/* Returns the demangled name, or NULL if it is that of no class. */
static char *class_named(const char *mangled)
{
  char symbol[sizeof symbol_prefix + NAME_BYTES];
  const bool may_be_class = isdigit((unsigned char)*mangled) || strchr("NSZ", *mangled);
  snprintf(symbol, sizeof symbol, "%s%s", symbol_prefix, mangled);
  char *shown = may_be_class ? hwi_demangle(symbol) : NULL;
  char *name = shown && strncmp(shown, shown_prefix, sizeof shown_prefix - 1) == 0
                   ? strdup(shown + sizeof shown_prefix - 1)
                   : NULL;
  free(shown);
  return name;
}

char *hwi_class_name_of(struct hwi_module_bytes *bytes, uint64_t table)
{
  const unsigned word = bytes->memory->word_bytes;
  char mangled[NAME_BYTES];
  uint64_t off, info, name_at;
  const bool is_table =
      hwi_module_word(bytes, table - 2 * word, &off) && off == 0 && /* of an object that is no part of another */
      hwi_module_word(bytes, table - word, &info) && info % word == 0 && hwi_core_modules_of(bytes->modules, info) &&
      is_of_class(bytes, info) && hwi_module_word(bytes, info + word, &name_at) &&
      hwi_core_modules_of(bytes->modules, name_at) && read_name(bytes, name_at, mangled);
  return is_table ? class_named(mangled) : NULL;
}
