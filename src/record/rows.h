/* rows.h - a lane's cache of rows: what each machine address says about its frame, and the module that it lies in */
#ifndef HWI_RECORD_ROWS_H
#define HWI_RECORD_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "record/cfi.h"
#include "record/lane.h"
#include "record/nodes.h"

struct hwi_row_hit {
  struct hwi_row_of row;
  uint32_t place; /* of its slot */
};

/* The row for the frame that goes on at `pc`. `exact`: pc itself was interrupted by a signal; otherwise it is a return
 * address, which may lie behind the end of its function. */
static inline struct hwi_row_hit hwi_rows_find(struct hwi_lane *lane, uintptr_t pc, bool exact);

/* The node of the frame below `parent`, with `entry` called from it. */
static inline uint32_t hwi_rows_node(struct hwi_lane *lane, uint32_t parent, const struct hwi_frame *frame,
                                     uint8_t entry);

/* The same where only the return address is known. */
uint32_t hwi_rows_node_at(struct hwi_lane *lane, uint32_t parent, uintptr_t pc, uint8_t entry);

/* Forgets all rows: a module was unloaded. */
void hwi_rows_drop(struct hwi_rows *rows);

/* --- the look-ups, in full: they are on the hot path --- */

enum { HWI_ROWS_EXACT_SHIFT = 55 }; /* of the key: above the pc */

static inline uint64_t hwi_rows_key(uintptr_t pc, bool exact)
{
  return pc | (uint64_t)exact << HWI_ROWS_EXACT_SHIFT;
}

static inline uint32_t hwi_rows_place(uint64_t key, uint32_t count)
{
  return (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 40) & (count - 1);
}

struct hwi_row_hit hwi_rows_find_slow(struct hwi_lane *lane, uintptr_t pc, bool exact);

static inline struct hwi_row_hit hwi_rows_find(struct hwi_lane *lane, uintptr_t pc, bool exact)
{
  uint64_t key = hwi_rows_key(pc, exact);
  if (__builtin_expect(lane->rows.slots != NULL, 1)) {
    uint32_t place = hwi_rows_place(key, lane->rows.count);
    const struct hwi_row_slot *slot = &lane->rows.slots[place];
    if (__builtin_expect(slot->key == key, 1))
      return (struct hwi_row_hit){slot->row, place};
  }
  return hwi_rows_find_slow(lane, pc, exact);
}

/* The same as hwi_rows_node, where the slot's last context is another one. */
uint32_t hwi_rows_node_slow(struct hwi_lane *lane, struct hwi_row_slot *slot, uint32_t parent, uint8_t entry);

enum { HWI_ROWS_ENTRY_SHIFT = 24 }; /* of a context: above all node numbers */

/* Never 0, but for a parent that is not known. */
static inline uint32_t hwi_rows_context(uint32_t parent, uint8_t entry)
{
  return (parent | (uint32_t)entry << HWI_ROWS_ENTRY_SHIFT) + 1;
}

/* A frame mostly is in one of the contexts that it was in before, and its slot is at hand: the tree need not be asked. */
static inline uint32_t hwi_rows_node(struct hwi_lane *lane, uint32_t parent, const struct hwi_frame *frame,
                                     uint8_t entry)
{
  struct hwi_row_slot *slot = &lane->rows.slots[frame->row];
  uint32_t context = hwi_rows_context(parent, entry);
  if (__builtin_expect(!lane->rows.slots || slot->key != frame->pc || !context, 0))
    return hwi_rows_node_at(lane, parent, frame->pc, entry);
  return slot->last[0].context == context ? slot->last[0].node : hwi_rows_node_slow(lane, slot, parent, entry);
}

#endif
