/* row_cache.h - two caches of a lane: how to unwind the frame at an address, and the node of a frame
 *
 * row        how to step outward from a frame, for the pc where it continues (see cfi.h), and the module of this pc.
 * slot       one entry of a cache, which has a row or a node.
 */
#ifndef HWI_RECORD_UNWIND_ROW_CACHE_H
#define HWI_RECORD_UNWIND_ROW_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "record/lane.h"
#include "record/unwind/cfi.h"
#include "record/unwind/nodes.h"

/* Returns the row for the frame that continues at `pc`. If `is_interrupted`, a signal interrupted the instruction at
 * pc; otherwise pc is a return address, which may be after the end of its function. */
static inline struct hwi_cached_row hwi_row_cache_find(struct hwi_lane *lane, uintptr_t pc, bool is_interrupted);

/* Returns the node of the frame that continues at the return address `pc`, below `parent`, with `entry` called from
 * it. */
static inline uint32_t hwi_row_cache_node(struct hwi_lane *lane, uint32_t parent, uintptr_t pc, uint8_t entry);

/* Returns the same node. It is faster if `parent` was found just before and has few children. `module` is the module of
 * pc. */
static inline uint32_t hwi_row_cache_node_inward(struct hwi_lane *lane, uint32_t parent, uintptr_t pc, uint32_t module,
                                                 uint8_t entry);

/* Empties both caches, because modules were loaded or unloaded, or because an entry may be half written. */
void hwi_row_cache_drop(struct hwi_row_cache *rows);

/* --- the look-ups, in full: they are on the hot path --- */

enum { HWI_ROW_CACHE_INTERRUPTED_SHIFT = 55 }; /* of the key: above the pc */

static inline uint64_t hwi_row_cache_key(uintptr_t pc, bool is_interrupted)
{
  return pc | (uint64_t)is_interrupted << HWI_ROW_CACHE_INTERRUPTED_SHIFT;
}

static inline uint32_t hwi_row_cache_place(uint64_t key, uint32_t count)
{
  return (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 40) & (count - 1);
}

/* Returns the row that the CFI of the module gives, and caches it. Takes no lock with glibc 2.35 and later. */
struct hwi_cached_row hwi_row_cache_find_slow(struct hwi_lane *lane, uintptr_t pc, bool is_interrupted);

static inline struct hwi_cached_row hwi_row_cache_find(struct hwi_lane *lane, uintptr_t pc, bool is_interrupted)
{
  uint64_t key = hwi_row_cache_key(pc, is_interrupted);
  if (__builtin_expect(lane->rows.slots != NULL, 1)) {
    const struct hwi_row_slot *slot = &lane->rows.slots[hwi_row_cache_place(key, lane->rows.count)];
    if (__builtin_expect(slot->key == key, 1))
      return slot->row;
  }
  return hwi_row_cache_find_slow(lane, pc, is_interrupted);
}

/* Finds the node in the tree (nodes.h), caches it and returns it. It may be HWI_NODE_UNKNOWN. */
uint32_t hwi_row_cache_node_slow(struct hwi_lane *lane, uint32_t parent, uintptr_t pc, uint8_t entry);

enum {
  HWI_ROW_CACHE_ENTRY_SHIFT = 56,
  HWI_ROW_CACHE_PARENT_SHIFT = 32
}; /* in a slot's key, and in the input of its position */

static inline uint64_t hwi_row_cache_node_key(uintptr_t pc, uint8_t entry)
{
  return pc | (uint64_t)entry << HWI_ROW_CACHE_ENTRY_SHIFT;
}

/* rows->node_slots must not be NULL. */
static inline struct hwi_node_slot *hwi_row_cache_node_slot(const struct hwi_row_cache *rows, uint64_t key,
                                                            uint32_t parent)
{
  return &rows->node_slots[hwi_row_cache_place(key + ((uint64_t)parent << HWI_ROW_CACHE_PARENT_SHIFT),
                                               rows->node_slot_count)];
}

/* Most frames were looked up before below the same parent: then no look-up in the tree is needed. */
static inline uint32_t hwi_row_cache_node(struct hwi_lane *lane, uint32_t parent, uintptr_t pc, uint8_t entry)
{
  uint64_t key = hwi_row_cache_node_key(pc, entry);
  if (__builtin_expect(lane->rows.node_slots != NULL, 1)) {
    const struct hwi_node_slot *slot = hwi_row_cache_node_slot(&lane->rows, key, parent);
    if (__builtin_expect(slot->key == key && slot->parent == parent, 1))
      return slot->node;
  }
  return hwi_row_cache_node_slow(lane, parent, pc, entry);
}

static inline uint32_t hwi_row_cache_node_inward(struct hwi_lane *lane, uint32_t parent, uintptr_t pc, uint32_t module,
                                                 uint8_t entry)
{
  uint32_t node = hwi_nodes_follow(lane, parent, pc, module, entry);
  return node ? node : hwi_row_cache_node(lane, parent, pc, entry);
}

#endif
