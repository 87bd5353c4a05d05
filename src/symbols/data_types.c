/* data_types.c - the types of data, from debug information
 *
 * A DIE may be damaged in any way: chains of types that lead back to themselves end after a few steps, and what a type
 * contains is looked at to a limited depth.
 */
#include "symbols/data_types.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/library_types.h"
#include "trace/grow.h"

enum {
  STEPS = 64,             /* of typedefs and qualifiers */
  DEEPEST = 64,           /* of types in types */
  MEMBERS_MOST = 1 << 20, /* in all */
  ELEMENTS_MOST = 1 << 30,
};

static const char *name_of(Dwarf_Die *die)
{
  Dwarf_Attribute attribute;
  return dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attribute));
}

static bool has(Dwarf_Die *die, unsigned name)
{
  Dwarf_Attribute attribute;
  return dwarf_attr(die, name, &attribute);
}

static bool target_of(Dwarf_Die *die, Dwarf_Die *target)
{
  Dwarf_Attribute attribute;
  return dwarf_attr_integrate(die, DW_AT_type, &attribute) && dwarf_formref_die(&attribute, target);
}

static bool is_record(int tag)
{
  return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

static bool is_alias(int tag)
{
  switch (tag) {
  case DW_TAG_typedef:
  case DW_TAG_const_type:
  case DW_TAG_volatile_type:
  case DW_TAG_restrict_type:
  case DW_TAG_atomic_type:
  case DW_TAG_template_alias:
    return true;
  default:
    return false;
  }
}

/* Returns false for what has no data. */
static bool kind_of(int tag, uint8_t *kind)
{
  switch (tag) {
  case DW_TAG_pointer_type:
  case DW_TAG_reference_type:
  case DW_TAG_rvalue_reference_type:
    *kind = HWI_DATA_POINTER;
    return true;
  case DW_TAG_array_type:
    *kind = HWI_DATA_ARRAY;
    return true;
  case DW_TAG_base_type:
  case DW_TAG_enumeration_type:
  case DW_TAG_ptr_to_member_type:
    *kind = HWI_DATA_SCALAR;
    return true;
  default:
    *kind = HWI_DATA_RECORD;
    return is_record(tag);
  }
}

/* --- from a DIE to a type --- */

static uint32_t number_of(struct hwi_data_types *types, const Dwarf_Die *die)
{
  const uint32_t number = hwi_numbering_of(&types->numbers, (uintptr_t)die->addr, 0);
  if (number && hwi_grow((void **)&types->types, &types->type_capacity, (size_t)number + 1, sizeof *types->types))
    return number;
  types->failed = true;
  return 0;
}

static int bytes_of_die(Dwarf_Die *die, uint8_t kind)
{
  Dwarf_Die unit;
  uint8_t address_bytes = 0;
  const int bytes = dwarf_bytesize(die);
  if (bytes <= 0 && kind == HWI_DATA_POINTER && dwarf_diecu(die, &unit, &address_bytes, NULL))
    return address_bytes;
  return bytes;
}

/* Adds a type, whose name may be that of the last typedef. */
static uint32_t add(struct hwi_data_types *types, Dwarf_Die *die, uint8_t kind, const char *alias)
{
  const uint32_t known = types->numbers.count, number = number_of(types, die);
  if (number <= known)
    return number;
  struct hwi_data_type *type = &types->types[number];
  const struct hwi_data_entry *entry = kind == HWI_DATA_RECORD ? hwi_data_index_of_die(&types->index, die) : NULL;
  const int bytes = bytes_of_die(die, kind);
  const char *name = entry ? entry->name : name_of(die);
  *type = (struct hwi_data_type){.name = name ? name : alias,
                                 .bytes = bytes > 0 ? (uint64_t)bytes : 0,
                                 .kind = kind,
                                 .is_union = dwarf_tag(die) == DW_TAG_union_type,
                                 .die = *die};
  return number;
}

/* A record that is only declared there is the one that is defined elsewhere: in a unit of types, or in any other unit. */
static bool find_definition(struct hwi_data_types *types, Dwarf_Die *die)
{
  Dwarf_Attribute attribute;
  Dwarf_Die there;
  if (dwarf_formref_die(dwarf_attr(die, DW_AT_signature, &attribute), &there) && is_record(dwarf_tag(&there)))
    *die = there;
  if (!has(die, DW_AT_declaration))
    return true;
  const struct hwi_data_entry *entry = hwi_data_index_of_die(&types->index, die);
  if (!entry || !entry->is_defined || entry->is_ambiguous)
    return false;
  *die = entry->die;
  return true;
}

/* Returns the type of the DIE itself. */
static uint32_t type_of(struct hwi_data_types *types, Dwarf_Die die)
{
  const char *alias = NULL;
  for (unsigned step = 0; step < STEPS && is_alias(dwarf_tag(&die)); step++) {
    const char *name = dwarf_tag(&die) == DW_TAG_typedef ? name_of(&die) : NULL;
    alias = name ? name : alias;
    if (!target_of(&die, &die))
      return 0;
  }
  uint8_t kind;
  if (!kind_of(dwarf_tag(&die), &kind) || (kind == HWI_DATA_RECORD && !find_definition(types, &die)))
    return 0;
  return add(types, &die, kind, alias);
}

uint32_t hwi_data_types_of(struct hwi_data_types *types, Dwarf_Die *die)
{
  Dwarf_Die target;
  return target_of(die, &target) ? type_of(types, target) : 0;
}

uint32_t hwi_data_types_named(struct hwi_data_types *types, const char *name)
{
  const struct hwi_data_entry *entry = hwi_data_index_named(&types->index, name);
  return entry && entry->is_defined && !entry->is_ambiguous ? type_of(types, entry->die) : 0;
}

/* --- members --- */

static bool offset_of(Dwarf_Die *die, uint64_t *off)
{
  Dwarf_Attribute attribute;
  Dwarf_Word number;
  Dwarf_Op *operations;
  size_t count;
  *off = 0;
  if (!dwarf_attr(die, DW_AT_data_member_location, &attribute))
    return !has(die, DW_AT_data_bit_offset) && !has(die, DW_AT_bit_size);
  if (has(die, DW_AT_bit_size))
    return false;
  if (dwarf_formudata(&attribute, &number) == 0) {
    *off = number;
    return true;
  }
  /* of a virtual base class, the object itself says where it is */
  if (dwarf_getlocation(&attribute, &operations, &count) != 0 || count != 1 || operations->atom != DW_OP_plus_uconst)
    return false;
  *off = operations->number;
  return true;
}

static void put_member(struct hwi_data_types *types, uint32_t record, const struct hwi_data_member *member)
{
  if (types->failed || member->off > types->types[record].bytes || types->member_count >= MEMBERS_MOST)
    return;
  if (!hwi_grow((void **)&types->members, &types->member_capacity, types->member_count + 1, sizeof *types->members)) {
    types->failed = true;
    return;
  }
  types->members[types->member_count++] = *member;
  types->types[record].member_count++;
}

static void add_member(struct hwi_data_types *types, uint32_t record, Dwarf_Die *die)
{
  struct hwi_data_member member = {.name = ""};
  if (has(die, DW_AT_external) || has(die, DW_AT_declaration) || !offset_of(die, &member.off))
    return;
  const char *name = dwarf_tag(die) == DW_TAG_member ? name_of(die) : NULL;
  member.name = name ? name : "";
  member.type = hwi_data_types_of(types, die);
  put_member(types, record, &member);
}

/* An array at the end that has no length, or none to speak of, is the begin of more. */
static bool is_open_array(struct hwi_data_types *types, const struct hwi_data_member *last, uint64_t record_bytes)
{
  if (!last->type || types->types[last->type].kind != HWI_DATA_ARRAY)
    return false;
  const struct hwi_data_type *array = hwi_data_types_get(types, last->type);
  return array->count <= 1 && last->off + array->bytes + sizeof(uint64_t) > record_bytes;
}

static void lay_out_record(struct hwi_data_types *types, uint32_t record)
{
  Dwarf_Die die = types->types[record].die;
  const size_t first = types->member_count;
  const char *value = hwi_library_buffer(types->types[record].name);
  types->types[record].first_member = (uint32_t)first;
  if (value) {
    put_member(types, record, &(struct hwi_data_member){"", 0, hwi_data_types_inner(types, record, value)});
    return;
  }
  if (dwarf_child(&die, &die) != 0)
    return;
  for (;;) {
    const int tag = dwarf_tag(&die);
    if (tag == DW_TAG_member || tag == DW_TAG_inheritance)
      add_member(types, record, &die);
    const Dwarf_Off here = dwarf_dieoffset(&die);
    if (types->failed || dwarf_siblingof(&die, &die) != 0 || dwarf_dieoffset(&die) <= here)
      break;
  }
  if (types->member_count > first && !types->types[record].is_union) {
    const struct hwi_data_member last = types->members[types->member_count - 1];
    const bool is_open = is_open_array(types, &last, types->types[record].bytes); /* may move the types */
    types->types[record].is_open = is_open;
  }
}

/* --- arrays --- */

/* Multiplies the lengths of the array's dimensions; 0 if one is not known. */
static uint64_t elements_of(Dwarf_Die *array)
{
  Dwarf_Die die;
  Dwarf_Attribute attribute;
  Dwarf_Word number;
  uint64_t all = 1;
  if (dwarf_child(array, &die) != 0)
    return 0;
  for (;;) {
    if (dwarf_tag(&die) == DW_TAG_subrange_type) {
      if (dwarf_formudata(dwarf_attr(&die, DW_AT_count, &attribute), &number) != 0) {
        if (dwarf_formudata(dwarf_attr(&die, DW_AT_upper_bound, &attribute), &number) != 0)
          return 0;
        number++;
      }
      if (number == 0 || number > ELEMENTS_MOST || all > ELEMENTS_MOST)
        return 0;
      all *= number;
    }
    const Dwarf_Off here = dwarf_dieoffset(&die);
    if (dwarf_siblingof(&die, &die) != 0 || dwarf_dieoffset(&die) <= here)
      return all <= ELEMENTS_MOST ? all : 0;
  }
}

static uint64_t bytes_of(struct hwi_data_types *types, uint32_t number)
{
  return number ? hwi_data_types_get(types, number)->bytes : 0;
}

static void lay_out_target(struct hwi_data_types *types, uint32_t number)
{
  Dwarf_Die die = types->types[number].die;
  const uint32_t target = hwi_data_types_of(types, &die);
  types->types[number].target = target;
  if (types->types[number].kind != HWI_DATA_ARRAY)
    return;
  const uint64_t count = elements_of(&die), bytes = count ? bytes_of(types, target) : 0;
  types->types[number].count = count;
  types->types[number].bytes = bytes <= UINT64_MAX / ELEMENTS_MOST ? count * bytes : 0;
}

void hwi_data_types_lay_out(struct hwi_data_types *types, uint32_t number)
{
  struct hwi_data_type *type = &types->types[number];
  type->is_laid_out = true;
  if (type->kind == HWI_DATA_RECORD)
    lay_out_record(types, number);
  else if (type->kind != HWI_DATA_SCALAR)
    lay_out_target(types, number);
}

/* --- what is in a type --- */

static uint32_t search_inner(struct hwi_data_types *types, Dwarf_Die die, const char *name, unsigned depth)
{
  enum { CLASSES_DEEP = 4 };
  Dwarf_Die base;
  uint32_t found = 0;
  if (depth > CLASSES_DEEP || dwarf_child(&die, &die) != 0)
    return 0;
  for (;;) {
    const int tag = dwarf_tag(&die);
    const char *of = tag == DW_TAG_typedef || tag == DW_TAG_template_type_parameter ? name_of(&die) : NULL;
    if (of && strcmp(of, name) == 0)
      return hwi_data_types_of(types, &die);
    if (tag == DW_TAG_inheritance && !found && target_of(&die, &base))
      found = search_inner(types, base, name, depth + 1);
    const Dwarf_Off here = dwarf_dieoffset(&die);
    if (dwarf_siblingof(&die, &die) != 0 || dwarf_dieoffset(&die) <= here)
      return found;
  }
}

uint32_t hwi_data_types_inner(struct hwi_data_types *types, uint32_t record, const char *name)
{
  return search_inner(types, types->types[record].die, name, 0);
}

static bool search(struct hwi_data_types *types, uint32_t number, unsigned depth)
{
  if (!number || depth > DEEPEST)
    return false;
  const struct hwi_data_type type = *hwi_data_types_get(types, number);
  if (type.pointers != HWI_DATA_POINTERS_NOT_KNOWN)
    return type.pointers == HWI_DATA_HAS_POINTERS;
  types->types[number].pointers = HWI_DATA_POINTERS_IN_SEARCH;
  bool is_found =
      type.kind == HWI_DATA_POINTER || (type.kind == HWI_DATA_ARRAY && search(types, type.target, depth + 1));
  for (uint32_t i = 0; i < type.member_count && !is_found; i++)
    is_found = search(types, types->members[type.first_member + i].type, depth + 1);
  types->types[number].pointers = is_found ? HWI_DATA_HAS_POINTERS : HWI_DATA_NO_POINTERS;
  return is_found;
}

bool hwi_data_types_search_pointers(struct hwi_data_types *types, uint32_t type)
{
  return search(types, type, 0);
}

void hwi_data_types_release(struct hwi_data_types *types)
{
  hwi_data_index_release(&types->index);
  hwi_numbering_release(&types->numbers);
  free(types->types);
  free(types->members);
  *types = (struct hwi_data_types){0};
}
