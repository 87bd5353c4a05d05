/* data_index.c - lists a module's variables and records, by one walk through its debug information
 *
 * The walk knows the namespaces and classes around a DIE, which the DIE itself does not say: so it makes the names. It goes into
 * functions for the static variables there, but not into the methods that a class declares: their code is a DIE of its own.
 */
#include "symbols/data_index.h"

#include <dwarf.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "symbols/dwarf_units.h"
#include "trace/grow.h"

enum {
  DEEPEST = 128,
  NAME_BYTES = 2048, /* longer names are cut off */
  LOCAL_BYTES_MOST = 1 << 20,
};

struct walk {
  struct hwi_data_index *index;
  uint64_t bias;
  uint64_t local_bytes; /* of a program's thread-local storage; 0: not known */
  uint64_t local_begin; /* where it begins, from the thread pointer on */
  bool is_c;            /* the unit's language has no namespaces */
  char prefix[NAME_BYTES];
  size_t prefix_bytes;
};

static const char *text_of(Dwarf_Die *die, unsigned name)
{
  Dwarf_Attribute attribute;
  return dwarf_formstring(dwarf_attr_integrate(die, name, &attribute));
}

static bool has_flag(Dwarf_Die *die, unsigned name)
{
  Dwarf_Attribute attribute;
  bool flag = false;
  return dwarf_formflag(dwarf_attr(die, name, &attribute), &flag) == 0 && flag;
}

/* --- names --- */

static void push(struct walk *walk, const char *name)
{
  const size_t before = walk->prefix_bytes, bytes = strlen(name);
  if (walk->is_c || before + bytes + sizeof "::" > sizeof walk->prefix)
    return;
  memcpy(walk->prefix + before, name, bytes);
  memcpy(walk->prefix + before + bytes, "::", sizeof "::" - 1);
  walk->prefix_bytes += bytes + sizeof "::" - 1;
}

static const char *full_name(struct walk *walk, const char *kind, const char *name)
{
  char text[2 * NAME_BYTES];
  const int bytes = snprintf(text, sizeof text, "%s%.*s%s", kind, (int)walk->prefix_bytes, walk->prefix, name);
  const size_t kept = bytes < 0 ? 0 : (size_t)bytes < sizeof text ? (size_t)bytes : sizeof text - 1;
  const uint32_t number = hwi_store_intern(&walk->index->store, text, kept);
  walk->index->failed |= !number;
  return number ? walk->index->store.strings[number].text : "";
}

/* What is declared in a namespace or class may be defined outside of it: then it has the name of its declaration. */
static const char *declared_name(struct walk *walk, Dwarf_Die *die, const char *kind, const char *name)
{
  Dwarf_Attribute attribute;
  Dwarf_Die declaration;
  const bool is_declared = dwarf_formref_die(dwarf_attr(die, DW_AT_specification, &attribute), &declaration);
  const struct hwi_data_entry *entry = is_declared ? hwi_data_index_of_die(walk->index, &declaration) : NULL;
  return entry ? entry->name : full_name(walk, kind, name);
}

static uint64_t hash_of(const char *name)
{
  uint64_t hash = HWI_FNV_BASIS;
  for (; *name; name++)
    if (*name != ' ')
      hash = hwi_fnv(hash, name, 1);
  return hash;
}

/* --- what is listed --- */

static uint32_t number_die(struct hwi_data_index *index, const Dwarf_Die *die)
{
  const uint32_t number = hwi_numbering_of(&index->dies, (uintptr_t)die->addr, 0);
  if (!number ||
      !hwi_grow((void **)&index->entry_of_die, &index->die_capacity, (size_t)number + 1, sizeof *index->entry_of_die)) {
    index->failed = true;
    return 0;
  }
  return number;
}

static void define(struct hwi_data_entry *entry, Dwarf_Die *die)
{
  const int bytes = dwarf_bytesize(die);
  if (bytes < 0 || has_flag(die, DW_AT_declaration))
    return;
  if (entry->is_defined) {
    entry->is_ambiguous |= entry->bytes != (uint64_t)bytes;
    return;
  }
  entry->is_defined = true;
  entry->bytes = (uint64_t)bytes;
  entry->die = *die;
}

/* Returns the entry, or NULL if there is no memory. */
static struct hwi_data_entry *add_entry(struct hwi_data_index *index, const Dwarf_Die *die, const char *name)
{
  const uint32_t entry = hwi_numbering_of(&index->names, hash_of(name), 0);
  const uint32_t number = number_die(index, die);
  if (!number || !entry ||
      !hwi_grow((void **)&index->entries, &index->entry_capacity, (size_t)entry + 1, sizeof *index->entries)) {
    index->failed = true;
    return NULL;
  }
  index->entry_of_die[number] = entry;
  index->entries[entry].name = name;
  return &index->entries[entry];
}

static void add_record(struct walk *walk, Dwarf_Die *die, int tag, const char *name)
{
  const char *kind = !walk->is_c ? "" : tag == DW_TAG_union_type ? "union " : "struct ";
  struct hwi_data_entry *entry = add_entry(walk->index, die, declared_name(walk, die, kind, name));
  if (entry)
    define(entry, die);
}

/* Reads the operand of an operation, which may be in a table. */
static bool read_operand(Dwarf_Attribute *location, const Dwarf_Op *operation, Dwarf_Word *operand)
{
  Dwarf_Attribute found;
  *operand = operation->number;
  switch (operation->atom) {
  case DW_OP_const8u:
  case DW_OP_const4u:
  case DW_OP_addr:
    return true;
  case DW_OP_constx:
  case DW_OP_GNU_const_index:
    return dwarf_getlocation_attr(location, operation, &found) == 0 && dwarf_formudata(&found, operand) == 0;
  default:
    return false;
  }
}

/* Reads the place of a thread-local variable in the program's storage. */
static bool read_local(const struct walk *walk, Dwarf_Attribute *location, const Dwarf_Op *operations,
                       Dwarf_Word *place)
{
  return (operations[1].atom == DW_OP_GNU_push_tls_address || operations[1].atom == DW_OP_form_tls_address) &&
         read_operand(location, operations, place) && *place < walk->local_bytes;
}

/* Reads an address in the file from a place that is one operation: others compute the place of a variable that moves. */
static bool read_address(Dwarf_Attribute *location, const Dwarf_Op *operation, Dwarf_Addr *address)
{
  Dwarf_Attribute found;
  *address = operation->number;
  if (operation->atom == DW_OP_addr)
    return *address != 0; /* 0: the linker dropped it */
  return (operation->atom == DW_OP_addrx || operation->atom == DW_OP_GNU_addr_index) &&
         dwarf_getlocation_attr(location, operation, &found) == 0 && dwarf_formaddr(&found, address) == 0 &&
         *address != 0;
}

/* Sets the place of a variable that has a fixed one. */
static bool find_place(const struct walk *walk, struct hwi_data_variable *variable)
{
  Dwarf_Attribute location;
  Dwarf_Op *operations;
  Dwarf_Addr address;
  Dwarf_Word place;
  size_t count;
  if (!dwarf_attr(&variable->die, DW_AT_location, &location) || dwarf_getlocation(&location, &operations, &count) != 0)
    return false;
  variable->is_local = count == 2 && read_local(walk, &location, operations, &place);
  if (variable->is_local)
    variable->address = place + walk->local_begin;
  else if (count == 1 && read_address(&location, operations, &address))
    variable->address = address + walk->bias;
  else
    return false;
  return true;
}

static void add_variable(struct walk *walk, Dwarf_Die *die)
{
  struct hwi_data_index *index = walk->index;
  struct hwi_data_variable variable = {.die = *die};
  const bool is_there = find_place(walk, &variable);
  const char *name = is_there || walk->prefix_bytes ? text_of(die, DW_AT_name) : NULL;
  if (!is_there && name && has_flag(die, DW_AT_declaration))
    add_entry(index, die, full_name(walk, "", name));
  if (!is_there || !name)
    return;
  if (!hwi_grow((void **)&index->variables, &index->variable_capacity, index->variable_count + 1,
                sizeof *index->variables)) {
    index->failed = true;
    return;
  }
  variable.name = declared_name(walk, die, "", name);
  index->variables[index->variable_count++] = variable;
}

/* --- the walk --- */

static bool is_record(int tag)
{
  return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

static bool has_inner(int tag, int outer)
{
  return tag == DW_TAG_namespace || tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine || is_record(tag) ||
         (tag == DW_TAG_subprogram && !is_record(outer));
}

static void walk_children(struct walk *walk, Dwarf_Die *parent, int outer, unsigned depth);

static void walk_die(struct walk *walk, Dwarf_Die *die, int outer, unsigned depth)
{
  const int tag = dwarf_tag(die);
  const size_t before = walk->prefix_bytes;
  if (tag == DW_TAG_variable || (tag == DW_TAG_member && is_record(outer) && has_flag(die, DW_AT_declaration))) {
    add_variable(walk, die);
    return;
  }
  if (!has_inner(tag, outer))
    return;
  const char *name = tag == DW_TAG_lexical_block ? NULL : text_of(die, DW_AT_name);
  if (is_record(tag) && name)
    add_record(walk, die, tag, name);
  if (dwarf_haschildren(die) <= 0)
    return;
  if (name && tag != DW_TAG_inlined_subroutine)
    push(walk, name);
  else if (tag == DW_TAG_namespace)
    push(walk, "(anonymous namespace)");
  walk_children(walk, die, tag, depth + 1);
  walk->prefix_bytes = before;
}

/* In a damaged file a sibling may be at a lower offset: offsets must increase. */
static void walk_children(struct walk *walk, Dwarf_Die *parent, int outer, unsigned depth)
{
  Dwarf_Die die;
  if (depth > DEEPEST || dwarf_child(parent, &die) != 0)
    return;
  for (;;) {
    if (walk->index->die_count++ >= HWI_DATA_DIES_MOST) {
      walk->index->is_cut = true;
      return;
    }
    walk_die(walk, &die, outer, depth);
    const Dwarf_Off here = dwarf_dieoffset(&die);
    if (walk->index->failed || walk->index->is_cut || dwarf_siblingof(&die, &die) != 0 || dwarf_dieoffset(&die) <= here)
      return;
  }
}

static bool is_c(Dwarf_Die *unit)
{
  enum { C17 = 0x2C, C23 = 0x3E }; /* of a later standard than the header's */
  switch (dwarf_srclang(unit)) {
  case DW_LANG_C:
  case DW_LANG_C89:
  case DW_LANG_C99:
  case DW_LANG_C11:
  case C17:
  case C23:
    return true;
  default:
    return false;
  }
}

static void add_units(struct walk *walk, Dwarf *dwarf, const char *dir)
{
  Dwarf_CU *unit = NULL;
  Dwarf_Die head;
  uint8_t type;
  while (!walk->index->failed && !walk->index->is_cut &&
         dwarf_get_units(dwarf, unit, &unit, NULL, &type, &head, NULL) == 0) {
    Dwarf_Die code = hwi_dwarf_unit_code(&head, dir);
    walk->is_c = is_c(&code);
    walk->prefix_bytes = 0;
    walk_children(walk, &code, DW_TAG_compile_unit, 0);
  }
}

/* The storage ends at the thread pointer, rounded up to its alignment. On Arm it begins there, after two words of the C library. */
static void find_local_storage(struct walk *walk, Dwarf *dwarf)
{
  enum { TWO_WORDS = 16 };
  size_t count = 0;
  GElf_Ehdr header;
  GElf_Phdr segment;
  Elf *elf = dwarf_getelf(dwarf);
  if (!gelf_getehdr(elf, &header) || elf_getphdrnum(elf, &count) != 0)
    return;
  for (size_t i = 0; i < count && gelf_getphdr(elf, (int)i, &segment); i++)
    if (segment.p_type == PT_TLS && segment.p_memsz < LOCAL_BYTES_MOST && segment.p_align <= LOCAL_BYTES_MOST) {
      const uint64_t align = segment.p_align ? segment.p_align : 1;
      walk->local_bytes = (segment.p_memsz + align - 1) / align * align;
      walk->local_begin = header.e_machine == EM_AARCH64 ? (TWO_WORDS + align - 1) / align * align : -walk->local_bytes;
      return;
    }
}

void hwi_data_index_add(struct hwi_data_index *index, const struct hwi_data_source *source)
{
  struct walk walk = {.index = index, .bias = source->bias};
  if (source->is_program)
    find_local_storage(&walk, source->dwarf);
  Dwarf *alternate = dwarf_getalt(source->dwarf);
  if (alternate)
    add_units(&walk, alternate, source->dir);
  add_units(&walk, source->dwarf, source->dir);
}

/* --- look-ups --- */

const struct hwi_data_entry *hwi_data_index_of_die(const struct hwi_data_index *index, const Dwarf_Die *die)
{
  const uint32_t number = hwi_numbering_find(&index->dies, (uintptr_t)die->addr, 0);
  return number ? &index->entries[index->entry_of_die[number]] : NULL;
}

const struct hwi_data_entry *hwi_data_index_named(const struct hwi_data_index *index, const char *name)
{
  const uint32_t number = hwi_numbering_find(&index->names, hash_of(name), 0);
  return number ? &index->entries[number] : NULL;
}

void hwi_data_index_release(struct hwi_data_index *index)
{
  free(index->variables);
  free(index->entries);
  free(index->entry_of_die);
  hwi_numbering_release(&index->names);
  hwi_numbering_release(&index->dies);
  hwi_store_release(&index->store);
  *index = (struct hwi_data_index){0};
}
