/* recode_tree.c - converts the definitions of a section to columns: the packer's side
 *
 * A node is stored as its number, its parent's number, and its pc (return address, module and entry together). The pc
 * is often one that the section has already, mostly the one that followed the previous node's pc the last time, since
 * stacks are always walked in the same order.
 */
#include "trace/pack/recode_tree.h"

#include <stdlib.h>

#include "trace/grow.h"
#include "trace/payload.h"

bool hwi_tree_out_begin(struct hwi_tree_out *tree, struct hwi_columns_out *out)
{
  if (!hwi_slots_reset(&tree->of_pc, tree->of_pc.count) ||
      !hwi_grow((void **)&tree->pcs, &tree->pc_room, HWI_PC_FIRST, sizeof *tree->pcs))
    return false;
  memset(tree->pcs, 0, HWI_PC_FIRST * sizeof *tree->pcs);
  tree->out = out;
  tree->failed = false;
  tree->pc_count = HWI_PC_FIRST;
  tree->last_number = tree->last_pc = 0;
  return true;
}

void hwi_tree_out_release(struct hwi_tree_out *tree)
{
  free(tree->pcs);
  hwi_slots_release(&tree->of_pc);
}

/* --- pcs --- */

static bool is_pc(const struct hwi_pc *known, const struct hwi_pc *pc)
{
  return known->address == pc->address && known->module == pc->module && known->entry == pc->entry;
}

static uint32_t *find_pc(const struct hwi_tree_out *tree, const struct hwi_pc *pc)
{
  const struct hwi_slots *table = &tree->of_pc;
  uint32_t at = hwi_slots_mix(pc->address * 4 + pc->module + pc->entry) & table->mask;
  while (table->slots[at] && !is_pc(&tree->pcs[table->slots[at]], pc))
    at = (at + 1) & table->mask;
  return &table->slots[at];
}

static bool grow_pcs(struct hwi_tree_out *tree)
{
  if (!hwi_slots_reset(&tree->of_pc, tree->pc_count * 2))
    return false;
  for (uint32_t number = HWI_PC_FIRST; number < tree->pc_count; number++)
    *find_pc(tree, &tree->pcs[number]) = number;
  tree->of_pc.count = (uint32_t)tree->pc_count - HWI_PC_FIRST;
  return true;
}

/* Adds a pc. Returns its number, or 0 if there is no memory. */
static uint32_t add_pc(struct hwi_tree_out *tree, const struct hwi_pc *pc, uint32_t *slot)
{
  const struct hwi_pc *last = &tree->pcs[tree->last_pc];
  bool has_entry = pc->entry != HW_ENTRY_NONE;
  hwi_columns_put_byte(tree->out, HWI_COLUMN_TREE_PCS, HWI_PC_NEW);
  hwi_columns_put(tree->out, HWI_COLUMN_NEW_PCS, hwi_zigzag((int64_t)(pc->address - last->address)));
  hwi_columns_put(tree->out, HWI_COLUMN_NEW_PCS, (uint64_t)pc->module << 1 | has_entry);
  if (has_entry)
    hwi_columns_put_byte(tree->out, HWI_COLUMN_NEW_PCS, pc->entry);
  if (!hwi_grow((void **)&tree->pcs, &tree->pc_room, tree->pc_count + 1, sizeof *tree->pcs))
    return 0;
  uint32_t number = *slot = (uint32_t)tree->pc_count++;
  tree->pcs[number] = *pc;
  tree->of_pc.count++;
  return hwi_slots_are_full(&tree->of_pc, 1) && !grow_pcs(tree) ? 0 : number;
}

/* Writes a pc, which is added if it is new. Returns its number, or 0 if there is no memory. */
static uint32_t put_pc(struct hwi_tree_out *tree, const struct hwi_pc *pc)
{
  uint32_t expected = tree->pcs[tree->last_pc].expected;
  if (expected && is_pc(&tree->pcs[expected], pc)) {
    hwi_columns_put_byte(tree->out, HWI_COLUMN_TREE_PCS, HWI_PC_EXPECTED);
    return expected;
  }
  uint32_t *slot = find_pc(tree, pc);
  if (!*slot)
    return add_pc(tree, pc, slot);
  hwi_columns_put(tree->out, HWI_COLUMN_TREE_PCS, *slot);
  return *slot;
}

/* --- definitions --- */

static bool put_node(void *context, uint32_t number, const struct hwi_node *node)
{
  struct hwi_tree_out *tree = context;
  hwi_columns_put(tree->out, HWI_COLUMN_TREE_NUMBERS, hwi_zigzag((int64_t)number - tree->last_number - 1));
  hwi_columns_put(tree->out, HWI_COLUMN_TREE_PARENTS, hwi_zigzag((int64_t)number - node->parent));
  struct hwi_pc pc = {.address = node->address, .module = node->module};
  pc.entry = node->cut ? HW_NODE_CUT : node->entry;
  uint32_t pc_number = put_pc(tree, &pc);
  tree->failed |= !pc_number;
  tree->pcs[tree->last_pc].expected = pc_number;
  tree->last_pc = pc_number;
  tree->last_number = number;
  return true;
}

static bool put_record(void *context, uint8_t type, const uint8_t *payload, size_t bytes, uint32_t *thread)
{
  struct hwi_tree_out *tree = context;
  struct hwi_thread ignored;
  hwi_columns_put_byte(tree->out, HWI_COLUMN_RECORDS, type);
  hwi_columns_put(tree->out, HWI_COLUMN_RECORDS, bytes);
  hwi_columns_put_bytes(tree->out, HWI_COLUMN_RECORDS, payload, bytes);
  return type != HW_RECORD_THREAD || hwi_payload_thread(payload, bytes, thread, &ignored);
}

struct hwi_definition_sink hwi_tree_out_sink(struct hwi_tree_out *tree)
{
  return (struct hwi_definition_sink){tree, put_node, put_record};
}
