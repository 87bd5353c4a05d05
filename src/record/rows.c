/* rows.c - a lane's cache of rows
 *
 * A direct-mapped table of 32-byte slots, private to its lane, so that nothing is shared and dropping it is one call. It
 * starts at a page and doubles when it missed as often as it has slots. A key of 0 is an empty slot. A slot also remembers the
 * last nodes of its frame, which saves most look-ups in the tree of nodes, whose cache misses are the cost of an event in a
 * program with many stacks.
 */
#include "record/rows.h"

#include <string.h>

#include "platform/os.h"
#include "record/modules.h"

static_assert(sizeof(struct hwi_row_slot) == 32, "two slots a cache line");
enum { FIRST_SLOTS = HWI_OS_PAGE_BYTES / sizeof(struct hwi_row_slot), MOST_SLOTS = UINT16_MAX + 1 };

void hwi_rows_drop(struct hwi_rows *rows)
{
  if (rows->slots)
    hwi_os_map_reset(rows->slots, rows->count * sizeof *rows->slots);
  rows->misses = 0;
}

static void grow(struct hwi_rows *rows)
{
  struct hwi_rows new = {.count = rows->count ? 2 * rows->count : FIRST_SLOTS};
  new.slots = hwi_os_map(new.count * sizeof *new.slots);
  rows->misses = 0;
  if (!new.slots)
    return;
  for (uint32_t i = 0; i < rows->count; i++)
    if (rows->slots[i].key)
      new.slots[hwi_rows_place(rows->slots[i].key, new.count)] = rows->slots[i];
  struct hwi_rows old = *rows;
  rows->slots = new.slots; /* in this order: abandoned between the two, the mask is only too small */
  atomic_signal_fence(memory_order_seq_cst);
  rows->count = new.count;
  atomic_signal_fence(memory_order_seq_cst);
  if (old.slots)
    hwi_os_unmap(old.slots, old.count * sizeof *old.slots);
}

/* As walks use it. What no sane CFI says is left to the interpreter: a bp saved where the return address is, or above the CFA. */
static struct hwi_row_of row_of(struct hwi_row row, uint32_t module)
{
  struct hwi_row_of of = {row.kind, row.bp_words, (uint16_t)module, row.offset};
  if (row.kind != HWI_ROW_SP && row.kind != HWI_ROW_BP && row.kind != HWI_ROW_SP_DEREF)
    return of;
  if (row.bp_words > 0 || row.bp_words == HWI_NO_BP_SLOT)
    of.kind = HWI_ROW_FULL;
  if (!row.bp_words)
    of.bp_slot = HWI_NO_BP_SLOT;
  return of;
}

struct hwi_row_hit hwi_rows_find_slow(struct hwi_lane *lane, uintptr_t pc, bool exact)
{
  struct hwi_rows *rows = &lane->rows;
  struct hwi_row row = {.kind = HWI_ROW_NONE};
  struct hwi_os_module module;
  uint32_t number = hwi_modules_find(lane, exact ? pc : pc - 1, &module);
  if (module.eh_frame_hdr) {
    struct hwi_cfi_module cfi = {module.start, module.end, module.eh_frame_hdr};
    row = hwi_cfi_row(&cfi, exact ? pc : pc - 1);
  }
  if (!rows->slots || (++rows->misses > rows->count && rows->count < MOST_SLOTS))
    grow(rows);
  struct hwi_row_hit hit = {.row = row_of(row, number)};
  if (!rows->slots)
    return hit;
  uint64_t key = hwi_rows_key(pc, exact);
  hit.place = hwi_rows_place(key, rows->count);
  struct hwi_row_slot *slot = &rows->slots[hit.place];
  *slot = (struct hwi_row_slot){.key = key, .row = hit.row};
  return hit;
}

uint32_t hwi_rows_node_slow(struct hwi_lane *lane, struct hwi_row_slot *slot, uint32_t parent, uint8_t entry)
{
  uint32_t context = hwi_rows_context(parent, entry);
  uint32_t node = slot->last[1].context == context ? slot->last[1].node
                                                   : hwi_nodes_find(lane, parent, slot->key, slot->row.module, entry);
  if (node == HWI_NODE_UNKNOWN)
    return node;
  slot->last[1] = slot->last[0];
  slot->last[0].context = 0; /* abandoned between these stores, the pair must not match */
  atomic_signal_fence(memory_order_seq_cst);
  slot->last[0].node = node;
  atomic_signal_fence(memory_order_seq_cst);
  slot->last[0].context = context;
  return node;
}

uint32_t hwi_rows_node_at(struct hwi_lane *lane, uint32_t parent, uintptr_t pc, uint8_t entry)
{
  struct hwi_row_hit hit = hwi_rows_find(lane, pc, false);
  struct hwi_frame frame = {.pc = pc, .row = (uint16_t)hit.place};
  if (!lane->rows.slots || parent == HWI_NODE_UNKNOWN)
    return hwi_nodes_find(lane, parent, pc, hit.row.module, entry);
  return hwi_rows_node(lane, parent, &frame, entry);
}
