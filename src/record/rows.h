/* rows.h - a lane's cache of rows: what each machine address says about its frame, and the module that it lies in */
#ifndef HWI_RECORD_ROWS_H
#define HWI_RECORD_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "record/cfi.h"
#include "record/lane.h"
#include "record/nodes.h"

struct hwi_row_hit {
  struct hwi_row row;
  uint32_t module; /* number; 0: none */
};

/* The row for the frame that goes on at `pc`. `exact`: pc itself was interrupted by a signal; otherwise it is a return
 * address, which may lie behind the end of its function. */
static inline struct hwi_row_hit hwi_rows_find(struct hwi_lane *lane, uintptr_t pc, bool exact);

/* The node of the frame that goes on at the return address `pc` (found by hwi_rows_find before), below `parent`, with `entry`
 * called from it. */
static inline uint32_t hwi_rows_node(struct hwi_lane *lane, uint32_t parent, uintptr_t pc, uint32_t module,
                                     uint8_t entry);

/* Forgets all rows: a module was unloaded. */
void hwi_rows_drop(struct hwi_rows *rows);

/* --- the look-ups, in full: they are on the hot path --- */

enum {
  HWI_ROWS_KIND_BITS = 4,    /* of `what`: the kind below the offset */
  HWI_ROWS_EXACT_SHIFT = 55, /* of the key: above the pc */
  HWI_ROWS_BP_SHIFT = 56,    /* of the key: bp_words above that */
};

#define HWI_ROWS_KEY_MASK ((UINT64_C(1) << HWI_ROWS_BP_SHIFT) - 1)

static inline uint64_t hwi_rows_key(uintptr_t pc, bool exact)
{
  return pc | (uint64_t)exact << HWI_ROWS_EXACT_SHIFT;
}

static inline uint32_t hwi_rows_place(const struct hwi_rows *rows, uint64_t key)
{
  return (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 40) & (rows->count - 1);
}

struct hwi_row_hit hwi_rows_find_slow(struct hwi_lane *lane, uintptr_t pc, bool exact);

static inline struct hwi_row_hit hwi_rows_find(struct hwi_lane *lane, uintptr_t pc, bool exact)
{
  uint64_t key = hwi_rows_key(pc, exact);
  if (__builtin_expect(lane->rows.slots != NULL, 1)) {
    const struct hwi_row_slot *slot = &lane->rows.slots[hwi_rows_place(&lane->rows, key)];
    if (__builtin_expect((slot->key & HWI_ROWS_KEY_MASK) == key, 1))
      return (struct hwi_row_hit){.row = {.kind = (uint8_t)(slot->what & ((1 << HWI_ROWS_KIND_BITS) - 1)),
                                          .bp_words = (int8_t)(slot->key >> HWI_ROWS_BP_SHIFT),
                                          .offset = slot->what >> HWI_ROWS_KIND_BITS},
                                  .module = slot->module};
  }
  return hwi_rows_find_slow(lane, pc, exact);
}

/* A frame mostly is in one of the contexts that it was in before, and its slot is at hand: the tree need not be asked. */
static inline uint32_t hwi_rows_node(struct hwi_lane *lane, uint32_t parent, uintptr_t pc, uint32_t module,
                                     uint8_t entry)
{
  enum { ENTRY_SHIFT = 24 }; /* above all node numbers */
  uint64_t key = hwi_rows_key(pc, false);
  if (!lane->rows.slots || parent == HWI_NODE_UNKNOWN)
    return hwi_nodes_find(lane, parent, pc, module, entry);
  struct hwi_row_slot *slot = &lane->rows.slots[hwi_rows_place(&lane->rows, key)];
  uint32_t context = (parent | (uint32_t)entry << ENTRY_SHIFT) + 1; /* so that no context is 0 */
  if ((slot->key & HWI_ROWS_KEY_MASK) != key)
    return hwi_nodes_find(lane, parent, pc, module, entry);
  if (slot->last[0].context == context)
    return slot->last[0].node;
  uint32_t node =
      slot->last[1].context == context ? slot->last[1].node : hwi_nodes_find(lane, parent, pc, module, entry);
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

/* The same where only the address is known. */
static inline uint32_t hwi_rows_node_at(struct hwi_lane *lane, uint32_t parent, uintptr_t pc, uint8_t entry)
{
  return hwi_rows_node(lane, parent, pc, hwi_rows_find(lane, pc, false).module, entry);
}

#endif
