/* recode_definitions.c - converts the definitions of a section to columns: the packer's side
 *
 * A node is stored as its number, its parent's number, and its pc (return address, module and entry together). The pc
 * is often one that the section has already, mostly the one that followed the previous node's pc the last time, since
 * stacks are always walked in the same order.
 */
#include "trace/pack/recode_definitions.h"

#include <stdlib.h>

#include "trace/decode.h"
#include "trace/grow.h"

bool hwi_definitions_out_begin(struct hwi_definitions_out *definitions, struct hwi_columns_out *out)
{
  if (!hwi_recode_table_reset(&definitions->of_pc, definitions->of_pc.count) ||
      !hwi_grow((void **)&definitions->pcs, &definitions->pc_room, HWI_PC_FIRST, sizeof *definitions->pcs))
    return false;
  memset(definitions->pcs, 0, HWI_PC_FIRST * sizeof *definitions->pcs);
  definitions->out = out;
  definitions->failed = false;
  definitions->pc_count = HWI_PC_FIRST;
  definitions->last_number = definitions->last_pc = 0;
  return true;
}

void hwi_definitions_out_release(struct hwi_definitions_out *definitions)
{
  free(definitions->pcs);
  hwi_recode_table_release(&definitions->of_pc);
}

/* --- pcs --- */

static bool is_pc(const struct hwi_pc *known, const struct hwi_pc *pc)
{
  return known->address == pc->address && known->module == pc->module && known->entry == pc->entry;
}

static uint32_t *find_pc(const struct hwi_definitions_out *definitions, const struct hwi_pc *pc)
{
  const struct hwi_recode_table *table = &definitions->of_pc;
  uint32_t at = hwi_recode_table_mix(pc->address * 4 + pc->module + pc->entry) & table->mask;
  while (table->slots[at] && !is_pc(&definitions->pcs[table->slots[at]], pc))
    at = (at + 1) & table->mask;
  return &table->slots[at];
}

static bool grow_pcs(struct hwi_definitions_out *definitions)
{
  if (!hwi_recode_table_reset(&definitions->of_pc, definitions->pc_count * 2))
    return false;
  for (uint32_t number = HWI_PC_FIRST; number < definitions->pc_count; number++)
    *find_pc(definitions, &definitions->pcs[number]) = number;
  definitions->of_pc.count = (uint32_t)definitions->pc_count - HWI_PC_FIRST;
  return true;
}

/* Adds a pc. Returns its number, or 0 if there is no memory. */
static uint32_t add_pc(struct hwi_definitions_out *definitions, const struct hwi_pc *pc, uint32_t *slot)
{
  const struct hwi_pc *last = &definitions->pcs[definitions->last_pc];
  bool has_entry = pc->entry != HW_ENTRY_NONE;
  hwi_columns_put_byte(definitions->out, HWI_COLUMN_TREE_PCS, HWI_PC_NEW);
  hwi_columns_put(definitions->out, HWI_COLUMN_NEW_PCS, hwi_zigzag((int64_t)(pc->address - last->address)));
  hwi_columns_put(definitions->out, HWI_COLUMN_NEW_PCS, (uint64_t)pc->module << 1 | has_entry);
  if (has_entry)
    hwi_columns_put_byte(definitions->out, HWI_COLUMN_NEW_PCS, pc->entry);
  if (!hwi_grow((void **)&definitions->pcs, &definitions->pc_room, definitions->pc_count + 1, sizeof *definitions->pcs))
    return 0;
  uint32_t number = *slot = (uint32_t)definitions->pc_count++;
  definitions->pcs[number] = *pc;
  definitions->of_pc.count++;
  return hwi_recode_table_is_full(&definitions->of_pc, 1) && !grow_pcs(definitions) ? 0 : number;
}

/* Writes a pc, which is added if it is new. Returns its number, or 0 if there is no memory. */
static uint32_t put_pc(struct hwi_definitions_out *definitions, const struct hwi_pc *pc)
{
  uint32_t expected = definitions->pcs[definitions->last_pc].expected;
  if (expected && is_pc(&definitions->pcs[expected], pc)) {
    hwi_columns_put_byte(definitions->out, HWI_COLUMN_TREE_PCS, HWI_PC_EXPECTED);
    return expected;
  }
  uint32_t *slot = find_pc(definitions, pc);
  if (!*slot)
    return add_pc(definitions, pc, slot);
  hwi_columns_put(definitions->out, HWI_COLUMN_TREE_PCS, *slot);
  return *slot;
}

/* --- definitions --- */

static bool put_node(void *context, uint32_t number, const struct hwi_node *node)
{
  struct hwi_definitions_out *definitions = context;
  hwi_columns_put(definitions->out, HWI_COLUMN_TREE_NUMBERS,
                  hwi_zigzag((int64_t)number - definitions->last_number - 1));
  hwi_columns_put(definitions->out, HWI_COLUMN_TREE_PARENTS, hwi_zigzag((int64_t)number - node->parent));
  struct hwi_pc pc = {.address = node->address, .module = node->module};
  pc.entry = node->cut ? HW_NODE_CUT : node->entry;
  uint32_t pc_number = put_pc(definitions, &pc);
  definitions->failed |= !pc_number;
  definitions->pcs[definitions->last_pc].expected = pc_number;
  definitions->last_pc = pc_number;
  definitions->last_number = number;
  return true;
}

static bool put_record(void *context, uint8_t type, const uint8_t *payload, size_t bytes, uint32_t *thread)
{
  struct hwi_definitions_out *definitions = context;
  struct hwi_thread ignored;
  hwi_columns_put_byte(definitions->out, HWI_COLUMN_RECORDS, type);
  hwi_columns_put(definitions->out, HWI_COLUMN_RECORDS, bytes);
  hwi_columns_put_bytes(definitions->out, HWI_COLUMN_RECORDS, payload, bytes);
  return type != HW_RECORD_THREAD || hwi_payload_thread(payload, bytes, thread, &ignored);
}

struct hwi_definition_sink hwi_definitions_out_sink(struct hwi_definitions_out *definitions)
{
  return (struct hwi_definition_sink){definitions, put_node, put_record};
}
