/* vtables.c - the types of blocks that begin with an object of a C++ class with virtual functions */
#include "memory/types/vtables.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "memory/types/class_names.h"
#include "trace/grow.h"

enum { FIRST_SLOTS = 1024 };

static const char prefix[] = HWI_VTABLE_PREFIX;

static struct hwi_vtable *slot_of(struct hwi_vtable *slots, size_t count, uint64_t address)
{
  size_t at = hwi_hash_number(address) & (count - 1);
  while (slots[at].address && slots[at].address != address)
    at = (at + 1) & (count - 1);
  return &slots[at];
}

static bool make_room(struct hwi_vtables *vtables)
{
  const size_t count = vtables->slot_count ? 2 * vtables->slot_count : FIRST_SLOTS;
  if (4 * (vtables->used + 1) <= 3 * vtables->slot_count)
    return true;
  struct hwi_vtable *slots = calloc(count, sizeof *slots);
  if (!slots)
    return false;
  for (size_t i = 0; i < vtables->slot_count; i++)
    if (vtables->slots[i].address)
      *slot_of(slots, count, vtables->slots[i].address) = vtables->slots[i];
  free(vtables->slots);
  vtables->slots = slots;
  vtables->slot_count = count;
  return true;
}

/* Returns the name of the class whose table contains the address, as a symbol says, or NULL. */
static const char *symbol_of(struct hwi_vtables *vtables, const struct hwi_core_module *module, uint64_t address)
{
  const struct hwi_symbol *frames;
  const struct hwi_symbol_module of = hwi_core_module_of_symbols(module);
  const uint32_t count = hwi_symbols_find(vtables->symbols, &of, address, true, &frames);
  const bool is_table = count > 0 && frames->function && strncmp(frames->function, prefix, sizeof prefix - 1) == 0;
  return is_table ? frames->function + sizeof prefix - 1 : NULL;
}

/* Gets the name to which the table itself leads; NULL: there is none. Returns false if there is no memory. */
static bool find_own_name(struct hwi_vtables *vtables, uint64_t address, const char **name)
{
  vtables->bytes.memory = vtables->memory;
  vtables->bytes.modules = vtables->modules;
  char *found = hwi_class_name_of(&vtables->bytes, address);
  *name = hwi_store_string(&vtables->names, found);
  const bool done = !found || *name;
  free(found);
  return done;
}

static bool look_up(struct hwi_vtables *vtables, uint64_t address, struct hwi_vtable *slot)
{
  const struct hwi_core_module *module = hwi_core_modules_of(vtables->modules, address);
  *slot = (struct hwi_vtable){.address = address};
  vtables->used++;
  const char *name = symbol_of(vtables, module, address);
  const bool has_symbol = name;
  if (!name && !find_own_name(vtables, address, &name))
    return false;
  if (!name)
    return true;
  if (!hwi_grow((void **)&vtables->types, &vtables->type_capacity, vtables->type_count + 1, sizeof *vtables->types))
    return false;
  vtables->types[vtables->type_count++] = (struct hwi_vtable_type){name, address, module, has_symbol};
  slot->type = (uint32_t)vtables->type_count;
  return true;
}

bool hwi_vtables_type_of(struct hwi_vtables *vtables, const struct hwi_core_block *block, uint32_t *type)
{
  uint64_t word;
  *type = 0;
  if (!hwi_memory_word(&vtables->reader, block->address, &word) || word % vtables->memory->word_bytes != 0 ||
      !hwi_core_modules_of(vtables->modules, word))
    return true;
  if (!make_room(vtables))
    return false;
  struct hwi_vtable *slot = slot_of(vtables->slots, vtables->slot_count, word);
  if (!slot->address && !look_up(vtables, word, slot))
    return false;
  *type = slot->type;
  return true;
}

const char *hwi_vtables_name(const struct hwi_vtables *vtables, uint32_t type)
{
  return vtables->types[type - 1].name;
}

void hwi_vtables_release(struct hwi_vtables *vtables)
{
  free(vtables->slots);
  free(vtables->types);
  hwi_store_release(&vtables->names);
  hwi_module_bytes_release(&vtables->bytes);
  *vtables = (struct hwi_vtables){0};
}
