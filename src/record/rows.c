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

enum { FIRST_SLOTS = HWI_OS_PAGE_BYTES / sizeof(struct hwi_row_slot), MOST_SLOTS = 1 << 16 };

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
      new.slots[hwi_rows_place(&new, rows->slots[i].key & HWI_ROWS_KEY_MASK)] = rows->slots[i];
  struct hwi_rows old = *rows;
  rows->slots = new.slots; /* in this order: abandoned between the two, the mask is only too small */
  atomic_signal_fence(memory_order_seq_cst);
  rows->count = new.count;
  atomic_signal_fence(memory_order_seq_cst);
  if (old.slots)
    hwi_os_unmap(old.slots, old.count * sizeof *old.slots);
}

struct hwi_row_hit hwi_rows_find_slow(struct hwi_lane *lane, uintptr_t pc, bool exact)
{
  struct hwi_rows *rows = &lane->rows;
  struct hwi_row_hit hit = {.row = {.kind = HWI_ROW_NONE}};
  struct hwi_os_module module;
  hit.module = hwi_modules_find(lane, exact ? pc : pc - 1, &module);
  if (module.eh_frame_hdr) {
    struct hwi_cfi_module cfi = {module.start, module.end, module.eh_frame_hdr};
    hit.row = hwi_cfi_row(&cfi, exact ? pc : pc - 1);
  }
  int32_t room = INT32_MAX >> HWI_ROWS_KIND_BITS;
  if (hit.row.offset > room || hit.row.offset < -room)
    hit.row = (struct hwi_row){.kind = HWI_ROW_FULL};
  if (!rows->slots || (++rows->misses > rows->count && rows->count < MOST_SLOTS))
    grow(rows);
  if (!rows->slots)
    return hit;
  uint64_t key = hwi_rows_key(pc, exact);
  rows->slots[hwi_rows_place(rows, key)] = (struct hwi_row_slot){
      .key = key | (uint64_t)(uint8_t)hit.row.bp_words << HWI_ROWS_BP_SHIFT,
      .what = (int32_t)((uint32_t)hit.row.offset << HWI_ROWS_KIND_BITS | hit.row.kind),
      .module = hit.module,
  };
  return hit;
}
