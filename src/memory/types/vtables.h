/* vtables.h - the types of blocks that begin with an object of a C++ class with virtual functions
 *
 * Such an object begins with a pointer into the table of its class, which is in the data of a module. The class has the name of the
 * table's symbol, "vtable for NAME", or in a stripped module that which the table itself leads to (class_names.h).
 */
#ifndef HWI_MEMORY_TYPES_VTABLES_H
#define HWI_MEMORY_TYPES_VTABLES_H

#include "memory/heaps/heap.h"
#include "memory/image/module_bytes.h"
#include "symbols/symbols.h"
#include "trace/store.h"

struct hwi_vtable {
  uint64_t address; /* that objects have; 0: an empty slot */
  uint32_t type;    /* from 1; 0: it is no table of a class */
};

struct hwi_vtable_type {
  const char *name; /* owned by the symbols, or by `names` */
  uint64_t address;
  const struct hwi_core_module *module;
  bool has_symbol; /* with that name */
};

/* The module, in the form that the symbolizer needs. */
static inline struct hwi_symbol_module hwi_core_module_of_symbols(const struct hwi_core_module *module)
{
  return (struct hwi_symbol_module){module->path, module->build_id, module->build_id_bytes, module->bias};
}

/* The tables that were looked up. All zero, except for the first four members: none. */
struct hwi_vtables {
  const struct hwi_memory *memory;
  const struct hwi_core_modules *modules;
  struct hwi_symbols *symbols;
  struct hwi_memory_reader reader;
  struct hwi_module_bytes bytes;
  struct hwi_store names;   /* that no symbol has */
  struct hwi_vtable *slots; /* a hash table */
  size_t slot_count, used;
  struct hwi_vtable_type *types;
  size_t type_count, type_capacity;
};

/* Sets *type to the number of the block's type, or 0. Returns false if there is no memory. */
bool hwi_vtables_type_of(struct hwi_vtables *vtables, const struct hwi_core_block *block, uint32_t *type);
/* Returns the name of a type, from 1. */
const char *hwi_vtables_name(const struct hwi_vtables *vtables, uint32_t type);

void hwi_vtables_release(struct hwi_vtables *vtables);

#endif
