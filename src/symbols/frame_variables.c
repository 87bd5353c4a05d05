/* frame_variables.c - the local variables and parameters of a function that have a place in its frame */
#include "symbols/frame_variables.h"

#include <dwarf.h>

#include "symbols/debug_info.h"

enum { DEEPEST = 64 };

struct walk {
  const struct hwi_frame_bases *bases;
  Dwarf_Addr address; /* in the file */
  bool (*take)(void *context, const struct hwi_frame_variable *variable);
  void *context;
  uint64_t base; /* from which DW_OP_fbreg counts */
  bool has_base;
  bool is_done;
};

/* --- places --- */

/* Reads the operations that are right where the function goes on. Returns false unless it is one. */
static bool read_operation(const struct walk *walk, Dwarf_Die *die, unsigned name, Dwarf_Op *operation)
{
  Dwarf_Attribute attribute;
  Dwarf_Op *operations;
  size_t count;
  if (!dwarf_attr_integrate(die, name, &attribute) ||
      dwarf_getlocation_addr(&attribute, walk->address, &operations, &count, 1) != 1 || count != 1)
    return false;
  *operation = *operations;
  return true;
}

static bool register_value(const struct hwi_frame_bases *bases, uint64_t number, uint64_t *value)
{
  const bool is_frame_pointer = number == bases->frame_pointer_number && bases->has_frame_pointer;
  *value = is_frame_pointer ? bases->frame_pointer : bases->stack_pointer;
  return is_frame_pointer || number == bases->stack_pointer_number;
}

/* The base of a frame is a place of the kind "in a register", which means the value of that register. */
static bool read_base(struct walk *walk, Dwarf_Die *function)
{
  Dwarf_Op operation;
  if (!read_operation(walk, function, DW_AT_frame_base, &operation))
    return false;
  walk->base = walk->bases->cfa;
  if (operation.atom == DW_OP_call_frame_cfa)
    return true;
  if (operation.atom >= DW_OP_reg0 && operation.atom <= DW_OP_reg31)
    return register_value(walk->bases, operation.atom - DW_OP_reg0, &walk->base);
  const bool is_based = operation.atom >= DW_OP_breg0 && operation.atom <= DW_OP_breg31 &&
                        register_value(walk->bases, operation.atom - DW_OP_breg0, &walk->base);
  walk->base += is_based ? operation.number : 0;
  return is_based;
}

static bool read_place(const struct walk *walk, Dwarf_Die *die, uint64_t *address)
{
  Dwarf_Op operation;
  uint64_t base = walk->base;
  if (!read_operation(walk, die, DW_AT_location, &operation))
    return false;
  const bool is_based = operation.atom == DW_OP_fbreg ? walk->has_base
                        : operation.atom >= DW_OP_breg0 && operation.atom <= DW_OP_breg31
                            ? register_value(walk->bases, operation.atom - DW_OP_breg0, &base)
                            : false;
  *address = base + operation.number;
  return is_based;
}

/* --- the walk --- */

static void take_variable(struct walk *walk, Dwarf_Die *die)
{
  struct hwi_frame_variable variable = {.die = *die};
  Dwarf_Attribute attribute;
  Dwarf_Die type;
  Dwarf_Word bytes;
  variable.name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attribute));
  if (!variable.name || !read_place(walk, die, &variable.address) ||
      !dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attribute), &type) ||
      dwarf_aggregate_size(&type, &bytes) != 0)
    return;
  variable.bytes = bytes;
  walk->is_done = !walk->take(walk->context, &variable);
}

/* Inner blocks, and functions that were inlined, if they have the address. */
static bool is_inner(const struct walk *walk, Dwarf_Die *die, int tag)
{
  return (tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine) && dwarf_haspc(die, walk->address) > 0;
}

/* In a damaged file a sibling may be at a lower offset: offsets must increase. */
static void walk_scope(struct walk *walk, Dwarf_Die *scope, unsigned depth)
{
  Dwarf_Die die;
  if (depth > DEEPEST || dwarf_child(scope, &die) != 0)
    return;
  for (;;) {
    const int tag = dwarf_tag(&die);
    if (tag == DW_TAG_variable || tag == DW_TAG_formal_parameter)
      take_variable(walk, &die);
    else if (is_inner(walk, &die, tag))
      walk_scope(walk, &die, depth + 1);
    const Dwarf_Off here = dwarf_dieoffset(&die);
    if (walk->is_done || dwarf_siblingof(&die, &die) != 0 || dwarf_dieoffset(&die) <= here)
      return;
  }
}

void hwi_frame_variables(struct hwi_symbols *symbols, const struct hwi_symbol_module *module, uint64_t address,
                         const struct hwi_frame_bases *bases,
                         bool (*take)(void *context, const struct hwi_frame_variable *variable), void *context)
{
  Dwarf_Die function;
  struct walk walk = {.bases = bases, .address = address - module->bias, .take = take, .context = context};
  if (!hwi_symbols_function_die(symbols, module, walk.address, &function))
    return;
  walk.has_base = read_base(&walk, &function);
  walk_scope(&walk, &function, 0);
}
