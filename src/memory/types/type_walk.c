/* type_walk.c - follows the pointers in a value whose type is known */
#include <stdlib.h>

#include "memory/types/type_spread.h"
#include "symbols/library_types.h"
#include "trace/grow.h"

enum { DEEPEST = 64 }; /* of types in types */
static const size_t NO_MEMBER = SIZE_MAX;

static bool may_go_on(struct hwi_type_spread *spread)
{
  if (spread->work == 0) {
    spread->types->is_cut = true;
    return false;
  }
  spread->work--;
  return !spread->failed && !spread->contradicts;
}

/* --- members --- */

/* Returns the string "name of struct person". */
static uint32_t make_name(struct hwi_type_spread *spread, const char *member, const char *owner)
{
  char text[HWI_BLOCK_TYPE_TEXT_BYTES];
  const int bytes = snprintf(text, sizeof text, "%s of %s", member, owner);
  const size_t kept = bytes < 0 ? 0 : (size_t)bytes < sizeof text ? (size_t)bytes : sizeof text - 1;
  const uint32_t number = hwi_store_intern(&spread->types->names, text, kept);
  spread->failed |= !number;
  return number;
}

/* The same for a member at that place in the list of members, which always has the same owner. */
static uint32_t member_name(struct hwi_type_spread *spread, size_t place, const char *owner)
{
  const struct hwi_data_types *data = &spread->types->data;
  if (!hwi_grow((void **)&spread->member_names, &spread->member_capacity, data->member_count,
                sizeof *spread->member_names)) {
    spread->failed = true;
    return 0;
  }
  if (!spread->member_names[place])
    spread->member_names[place] = make_name(spread, data->members[place].name, owner);
  return spread->member_names[place];
}

/* --- what is known of a type --- */

static void find_facts(struct hwi_type_spread *spread, uint32_t type, struct hwi_type_facts *facts)
{
  struct hwi_data_types *data = &spread->types->data;
  const char *name = hwi_data_types_get(data, type)->name, *nodes = hwi_library_node_of(name);
  *facts = (struct hwi_type_facts){.is_known = true,
                                   .is_string = hwi_library_is_string(name),
                                   .is_node = hwi_library_is_node(name),
                                   .is_node_base = hwi_library_is_node_base(name),
                                   .is_library = hwi_library_has(name),
                                   .is_sequence = hwi_library_sequence_of(name) != HWI_LIBRARY_NO_SEQUENCE};
  if (nodes)
    facts->nodes = hwi_data_types_inner(data, type, nodes);
  if (facts->nodes && hwi_data_types_get(data, facts->nodes)->kind == HWI_DATA_POINTER)
    facts->nodes = hwi_data_types_get(data, facts->nodes)->target;
}

static struct hwi_type_facts facts_of(struct hwi_type_spread *spread, uint32_t type)
{
  struct hwi_type_facts facts = {0};
  if (!hwi_grow((void **)&spread->facts, &spread->fact_capacity, (size_t)type + 1, sizeof *spread->facts)) {
    spread->failed = true;
    return facts;
  }
  if (spread->facts[type].is_known)
    return spread->facts[type];
  find_facts(spread, type, &facts);
  return spread->facts[type] = facts;
}

/* --- records --- */

/* Of a union it is not known which member is in use: only if one alone has pointers, they are followed. Returns
 * its place, or NO_MEMBER. */
static size_t only_member(struct hwi_data_types *data, const struct hwi_data_type *of)
{
  size_t only = NO_MEMBER;
  for (size_t place = of->first_member; place < of->first_member + of->member_count; place++) {
    if (!hwi_data_types_have_pointers(data, data->members[place].type))
      continue;
    if (only != NO_MEMBER)
      return NO_MEMBER;
    only = place;
  }
  return only;
}

static void walk_member(struct hwi_type_spread *spread, size_t place, uint64_t address,
                        const struct hwi_type_walk *walk)
{
  struct hwi_data_types *data = &spread->types->data;
  struct hwi_type_walk inner = *walk;
  if (!hwi_data_types_have_pointers(data, data->members[place].type))
    return;
  const struct hwi_data_member member = data->members[place];
  if (!inner.member && !inner.is_check && member.name[0] && inner.owner)
    inner.member = member_name(spread, place, inner.owner);
  hwi_type_spread_value(spread, member.type, address + member.off, &inner);
}

static void walk_record(struct hwi_type_spread *spread, uint32_t type, uint64_t address,
                        const struct hwi_type_walk *walk)
{
  struct hwi_data_types *data = &spread->types->data;
  const struct hwi_type_facts facts = facts_of(spread, type);
  const struct hwi_data_type of = *hwi_data_types_get(data, type);
  struct hwi_type_walk inner = *walk;
  inner.is_string |= facts.is_string;
  if (!inner.member && of.name) /* the members of the library's own records say little */
    inner.owner = facts.is_library ? NULL : of.name;
  if (facts.nodes || facts.is_node)
    inner.node = facts.nodes ? facts.nodes : type;
  if (facts.is_sequence && !walk->is_check && hwi_type_spread_sequence(spread, type, address, &inner))
    return;
  if (of.is_union) {
    const size_t only = only_member(data, &of);
    if (only != NO_MEMBER)
      walk_member(spread, only, address, &inner);
    return;
  }
  for (uint32_t i = 0; i < of.member_count && may_go_on(spread); i++)
    walk_member(spread, of.first_member + i, address, &inner);
}

/* --- values --- */

static void check_pointer(struct hwi_type_spread *spread, uint32_t target, uint64_t address)
{
  if (hwi_type_may_point(spread, target, address))
    spread->agreed++;
  else
    spread->contradicts = true;
}

static void walk_pointer(struct hwi_type_spread *spread, uint32_t target, uint64_t address,
                         const struct hwi_type_walk *walk)
{
  struct hwi_data_types *data = &spread->types->data;
  uint64_t word;
  if (!hwi_memory_word(&spread->reader, address, &word) || word == 0)
    return;
  const bool is_record = target && hwi_data_types_get(data, target)->kind == HWI_DATA_RECORD;
  if (is_record && !walk->is_check && facts_of(spread, target).is_node_base) {
    if (!walk->node)
      return;
    target = walk->node;
  }
  if (walk->is_check)
    check_pointer(spread, target, word);
  else
    hwi_type_spread_claim(spread, &(struct hwi_claim){.target = target, .address = word}, walk);
}

void hwi_type_spread_value(struct hwi_type_spread *spread, uint32_t type, uint64_t address,
                           const struct hwi_type_walk *walk)
{
  struct hwi_data_types *data = &spread->types->data;
  struct hwi_type_walk inner = *walk;
  if (!type || ++inner.depth > DEEPEST || !hwi_data_types_have_pointers(data, type) || !may_go_on(spread))
    return;
  const struct hwi_data_type of = *hwi_data_types_get(data, type);
  if (of.kind == HWI_DATA_POINTER) {
    walk_pointer(spread, of.target, address, &inner);
  } else if (of.kind == HWI_DATA_RECORD) {
    walk_record(spread, type, address, &inner);
  } else if (of.kind == HWI_DATA_ARRAY && of.count) {
    const uint64_t bytes = of.bytes / of.count;
    for (uint64_t i = 0; i < of.count && bytes && may_go_on(spread); i++)
      hwi_type_spread_value(spread, of.target, address + i * bytes, &inner);
  }
}

/* --- blocks --- */

/* The array at the end of the record goes on to the end of the block. */
static void walk_open_end(struct hwi_type_spread *spread, const struct hwi_data_type *of,
                          const struct hwi_core_block *block, const struct hwi_type_walk *walk)
{
  struct hwi_data_types *data = &spread->types->data;
  if (!of->member_count)
    return;
  const struct hwi_data_member last = data->members[of->first_member + of->member_count - 1];
  const struct hwi_data_type array = *hwi_data_types_get(data, last.type);
  const uint64_t bytes = array.target ? hwi_data_types_get(data, array.target)->bytes : 0;
  struct hwi_type_walk inner = *walk;
  if (of->name && last.name[0])
    inner.member = member_name(spread, of->first_member + of->member_count - 1, of->name);
  for (uint64_t off = last.off + array.bytes;
       bytes && off <= hwi_core_block_bytes(block) && hwi_core_block_bytes(block) - off >= bytes && may_go_on(spread);
       off += bytes)
    hwi_type_spread_value(spread, array.target, block->address + off, &inner);
}

void hwi_type_spread_block(struct hwi_type_spread *spread, const struct hwi_queued *queued)
{
  const uint32_t number = queued->block;
  const struct hwi_block_label *label = hwi_block_types_label(spread->types, spread->label_of[number] & HWI_TYPE_LABEL);
  const struct hwi_core_block *block = &spread->types->heap->blocks[number];
  const uint32_t type = label->type;
  const bool is_array = label->form == HWI_FORM_ARRAY || label->form == HWI_FORM_SCALARS;
  struct hwi_type_walk walk = {.origin = label->origin, .node = label->node};
  if (!type || !hwi_data_types_have_pointers(&spread->types->data, type))
    return;
  const struct hwi_data_type of = *hwi_data_types_get(&spread->types->data, type);
  if (is_array && of.kind == HWI_DATA_POINTER)
    walk.member = label->member;
  const uint64_t step = is_array && of.bytes ? of.bytes : UINT64_MAX;
  uint64_t off = 0;
  for (uint32_t i = 0; i < queued->elements && off + of.bytes <= hwi_core_block_bytes(block) && may_go_on(spread);
       i++) {
    hwi_type_spread_value(spread, type, block->address + off, &walk);
    if (step > hwi_core_block_bytes(block) - off)
      break;
    off += step;
  }
  if (of.is_open)
    walk_open_end(spread, &of, block, &walk);
}
