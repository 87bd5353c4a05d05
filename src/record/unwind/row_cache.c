/* row_cache.c - a lane's cache of rows
 *
 * A table of 16-byte slots, private to its lane, so that nothing is shared and dropping it is one call. A row is looked
 * up in one slot; a row that was replaced there is in the adjacent slot, and fetching it back takes a hundredth of the
 * time that reading the CFI would take. The table starts with slots inside the lane and doubles when it has missed as
 * often as it has slots. A key of 0 is an empty slot.
 *
 * A second table of that kind caches nodes that were looked up. It saves most look-ups in the tree of nodes, whose
 * cache misses are the main cost of an event in a program with many stacks. It is emptied when it grows. Both tables
 * become invalid in three cases: a module was unloaded; a module was loaded and there are rows of code that no module
 * covered, which may now belong to it; or an event was abandoned, which may have left an entry half written.
 */
#include "record/unwind/row_cache.h"

#include <string.h>

#include "platform/os.h"
#include "record/unwind/modules.h"

static_assert((sizeof(struct hwi_row_slot) == 16 || HWI_ARCH_HAS_LINK) && sizeof(struct hwi_node_slot) == 16,
              "four a cache line");

enum {
  MOST_ROW_SLOTS = 1 << 16,
  FIRST_NODE_SLOTS = HWI_OS_PAGE_BYTES / sizeof(struct hwi_node_slot),
  MOST_NODE_SLOTS = 1 << 14,
  CACHE_FROM = 32, /* misses: with fewer, a program does not need the page of the CFI cache */
};

void hwi_row_cache_drop(struct hwi_row_cache *rows)
{
  if (rows->slots == rows->first)
    memset(rows->first, 0, sizeof rows->first);
  else if (rows->slots)
    hwi_os_map_reset(rows->slots, rows->count * sizeof *rows->slots);
  if (rows->node_slots)
    hwi_os_map_reset(rows->node_slots, rows->node_slot_count * sizeof *rows->node_slots);
  if (rows->cfi_cache)
    hwi_cfi_cache_clear(rows->cfi_cache);
  rows->misses = rows->node_misses = 0;
  rows->has_uncovered = false;
}

static struct hwi_row_slot *other_slot(struct hwi_row_slot *slots, uint32_t place)
{
  return &slots[place ^ 1];
}

static void put(struct hwi_row_slot *slots, uint32_t count, struct hwi_row_slot slot)
{
  uint32_t place = hwi_row_cache_place(slot.key, count);
  *other_slot(slots, place) = slots[place];
  slots[place] = slot;
}

/* Returns whether the row is in the slot adjacent to its own; if so, the two are exchanged. */
static bool fetch_from_other_slot(struct hwi_row_cache *rows, uint64_t key)
{
  uint32_t place = hwi_row_cache_place(key, rows->count);
  struct hwi_row_slot slot = *other_slot(rows->slots, place);
  if (slot.key == key)
    put(rows->slots, rows->count, slot);
  return slot.key == key;
}

static void grow(struct hwi_row_cache *rows)
{
  uint32_t count = rows->count, new_count = 2 * count;
  struct hwi_row_slot *old = rows->slots, *new = hwi_os_map(new_count * sizeof *new);
  rows->misses = 0;
  if (!new)
    return;
  for (uint32_t i = 0; i < count; i++)
    if (old[i].key)
      put(new, new_count, old[i]);
  rows->slots = new; /* in this order: if abandoned in between, the mask is only too small */
  atomic_signal_fence(memory_order_seq_cst);
  rows->count = new_count;
  atomic_signal_fence(memory_order_seq_cst);
  if (old != rows->first)
    hwi_os_unmap(old, count * sizeof *old);
}

/* Converts a row to the form that walks use. Implausible CFI is left to the interpreter: a bp saved where the return
 * address is, or above the CFA. */
static struct hwi_cached_row row_of(struct hwi_frame_row row, uint32_t module)
{
  struct hwi_cached_row of = {row.kind, row.bp_words, (uint16_t)module, row.offset, row.return_slot};
  if (row.kind != HWI_ROW_SP && row.kind != HWI_ROW_BP && row.kind != HWI_ROW_SP_DEREF && row.kind != HWI_ROW_LINK &&
      row.kind != HWI_ROW_LINK_BP)
    return of;
  if (row.bp_words > 0 || row.bp_words == HWI_NO_BP_SLOT)
    of.kind = HWI_ROW_FULL;
  if (!row.bp_words)
    of.bp_slot = HWI_NO_BP_SLOT;
  return of;
}

/* Makes sure that there are slots. */
static void make_room(struct hwi_row_cache *rows)
{
  if (!rows->slots) {
    rows->count = HWI_ROW_CACHE_FIRST;
    atomic_signal_fence(memory_order_seq_cst);
    rows->slots = rows->first;
  } else if (++rows->misses > rows->count && rows->count < MOST_ROW_SLOTS) {
    grow(rows);
  }
  if (!rows->cfi_cache && rows->misses == CACHE_FROM)
    rows->cfi_cache = hwi_os_map(HWI_CFI_CACHE_BYTES);
}

/* Code is read after a look whether it can be. If another thread unmaps it in between, the program dies. That takes a word on the stack
 * that only looks like a return address, since code to which this thread returns stays. A read that cannot fail is a system call that
 * malloc does not make (process_vm_readv), for which a sandbox may kill the program. */

/* Returns the offset from sp to the registers if code without CFI is that to which handlers of signals return, else 0. */
static int32_t signal_off(uintptr_t pc)
{
  uintptr_t in_page = pc % HWI_OS_PAGE_BYTES;
  if (in_page > HWI_OS_PAGE_BYTES - HWI_ARCH_SIGNAL_RETURN_BYTES || !hwi_os_readable_pages(pc - in_page, 1))
    return 0;
  return hwi_arch_signal_off((const void *)pc);
}

static bool is_after_call(uintptr_t pc)
{
  const uintptr_t first = (pc - HWI_ARCH_CALL_BYTES) / HWI_OS_PAGE_BYTES, last = (pc - 1) / HWI_OS_PAGE_BYTES;
  const size_t pages = last - first + 1;
  return hwi_os_readable_pages(first * HWI_OS_PAGE_BYTES, pages) == pages && hwi_arch_is_after_call((const void *)pc);
}

struct hwi_cached_row hwi_row_cache_find_slow(struct hwi_lane *lane, uintptr_t pc, bool is_interrupted)
{
  struct hwi_row_cache *rows = &lane->rows;
  uint64_t key = hwi_row_cache_key(pc, is_interrupted);
  make_room(rows);
  if (fetch_from_other_slot(rows, key))
    return rows->slots[hwi_row_cache_place(key, rows->count)].row;
  struct hwi_frame_row row = {.kind = HWI_ROW_NONE};
  struct hwi_os_module module;
  const uintptr_t at = is_interrupted ? pc : pc - 1;
  uint32_t number = hwi_modules_find(lane, at, &module);
  rows->has_uncovered |= !module.end;
  if (module.eh_frame_hdr) {
    struct hwi_cfi_module cfi = {module.start, module.end, module.eh_frame_hdr};
    row = hwi_cfi_row(&cfi, at, rows->cfi_cache);
  }
  if (row.kind == HWI_ROW_NONE) {
    if (number && !hwi_os_is_code(&module, at))
      number = 0; /* data, or code that was generated there */
    const int32_t registers_off = is_interrupted ? 0 : signal_off(pc);
    if (registers_off)
      row = (struct hwi_frame_row){.kind = HWI_ROW_SIGNAL, .offset = registers_off};
    else if (!is_interrupted && !number && is_after_call(pc))
      row.offset = HWI_ROW_AFTER_CALL;
  }
  struct hwi_cached_row of = row_of(row, number);
  put(rows->slots, rows->count, (struct hwi_row_slot){key, of});
  return of;
}

static void grow_node_slots(struct hwi_row_cache *rows)
{
  uint32_t old_count = rows->node_slot_count, count = old_count ? 2 * old_count : FIRST_NODE_SLOTS;
  struct hwi_node_slot *old = rows->node_slots, *node_slots = hwi_os_map(count * sizeof *node_slots);
  rows->node_misses = 0;
  if (!node_slots)
    return;
  rows->node_slots = node_slots; /* in this order: if abandoned in between, the mask is only too small */
  atomic_signal_fence(memory_order_seq_cst);
  rows->node_slot_count = count;
  atomic_signal_fence(memory_order_seq_cst);
  if (old)
    hwi_os_unmap(old, old_count * sizeof *old);
}

uint32_t hwi_row_cache_node_slow(struct hwi_lane *lane, uint32_t parent, uintptr_t pc, uint8_t entry)
{
  struct hwi_row_cache *rows = &lane->rows;
  uint32_t node = hwi_nodes_find(lane, parent, pc, hwi_row_cache_find(lane, pc, false).module, entry);
  if (!rows->node_slots || (++rows->node_misses > rows->node_slot_count && rows->node_slot_count < MOST_NODE_SLOTS))
    grow_node_slots(rows);
  uint64_t key = hwi_row_cache_node_key(pc, entry);
  if (rows->node_slots && node != HWI_NODE_UNKNOWN)
    *hwi_row_cache_node_slot(rows, key, parent) = (struct hwi_node_slot){key, parent, node};
  return node;
}
