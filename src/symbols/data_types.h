/* data_types.h - the variables of modules and the types of data, from debug information
 *
 * type      number from 1; 0: it is void, a function, or not known. Typedefs and qualifiers are not types: theirs is that which
 *           they stand for.
 * record    a struct, class or union.
 * laid out  its members are known. That is done when it is asked for: a program has a hundred thousand types, and few of
 *           them are needed.
 */
#ifndef HWI_SYMBOLS_DATA_TYPES_H
#define HWI_SYMBOLS_DATA_TYPES_H

#include "symbols/data_index.h"

enum hwi_data_kind {
  HWI_DATA_SCALAR,  /* numbers, enumerations, pointers to members */
  HWI_DATA_POINTER, /* and references */
  HWI_DATA_RECORD,
  HWI_DATA_ARRAY,
};

/* Whether something of a type holds a pointer. */
enum hwi_data_pointers {
  HWI_DATA_POINTERS_NOT_KNOWN = 0,
  HWI_DATA_POINTERS_IN_SEARCH,
  HWI_DATA_NO_POINTERS,
  HWI_DATA_HAS_POINTERS,
};

struct hwi_data_member {
  const char *name; /* "": none, such as that of a base class */
  uint64_t off;
  uint32_t type;
};

struct hwi_data_type {
  const char *name;                    /* "struct node", "shop::Item"; NULL: it has none, such as a pointer */
  uint64_t bytes;                      /* of an array: of all elements; 0: unknown */
  uint32_t target;                     /* pointer: what it points to; array: the elements */
  uint64_t count;                      /* array: of elements */
  uint32_t first_member, member_count; /* record */
  uint8_t kind;                        /* enum hwi_data_kind */
  bool is_union;
  bool is_open;     /* record: the last member is an array whose length is not known: more of it follows */
  bool is_laid_out; /* the members and the target are known */
  uint8_t pointers; /* enum hwi_data_pointers */
  Dwarf_Die die;
};

/* All zero: none. The caller adds modules to `index` (hwi_data_index_add), and then asks. */
struct hwi_data_types {
  struct hwi_data_index index;
  struct hwi_numbering numbers; /* of types, by where their DIE is */
  struct hwi_data_type *types;  /* [1, numbers.count] */
  size_t type_capacity;
  struct hwi_data_member *members;
  size_t member_count, member_capacity;
  bool failed; /* there was no memory: some types are missing */
};

/* Returns the type that the DIE, of a variable or the like, has. */
uint32_t hwi_data_types_of(struct hwi_data_types *types, Dwarf_Die *die);

/* Returns the record of that name, as a C++ symbol has it; 0: there is none, or there are several that differ. */
uint32_t hwi_data_types_named(struct hwi_data_types *types, const char *name);

/* The slow path of hwi_data_types_get. */
void hwi_data_types_lay_out(struct hwi_data_types *types, uint32_t type);

/* Returns a type with its members or target, which is valid until the next call of any of these functions. */
static inline const struct hwi_data_type *hwi_data_types_get(struct hwi_data_types *types, uint32_t type)
{
  if (!types->types[type].is_laid_out)
    hwi_data_types_lay_out(types, type);
  return &types->types[type];
}

/* Returns the type to which the typedef `name` or the template's type parameter of that name in the record or in a base class
 * refers; 0: it has none. */
uint32_t hwi_data_types_inner(struct hwi_data_types *types, uint32_t record, const char *name);

/* The slow path of hwi_data_types_have_pointers. */
bool hwi_data_types_search_pointers(struct hwi_data_types *types, uint32_t type);

/* Returns whether something of the type holds a pointer: if not, it need not be read. */
static inline bool hwi_data_types_have_pointers(struct hwi_data_types *types, uint32_t type)
{
  const uint8_t known = type ? types->types[type].pointers : HWI_DATA_NO_POINTERS;
  return known == HWI_DATA_NO_POINTERS    ? false
         : known == HWI_DATA_HAS_POINTERS ? true
                                          : hwi_data_types_search_pointers(types, type);
}

void hwi_data_types_release(struct hwi_data_types *types);

#endif
