/* nodes.c - the tree of stacks: (caller's node, address, module, entry) -> node ID
 *
 * Idea: nodes are stored in blocks in the order of their IDs, 12 bytes each, never moved or changed. Their index is 256
 * small hash tables, chosen by the top bits of the hash. A slot has 4 bytes: 22 bits of node ID and 10 bits of hash, so
 * that a slot of another node is nearly always recognised without reading the node.
 *
 * A new stack makes a chain of nodes, each directly after its parent. So the node after the parent is checked first,
 * and a node that is found there is not in the index at all. In a program with many stacks, this is true of most nodes.
 *
 * Invariant: a node is in the array, and after that in the index, only after its definition is complete in the trace.
 * Its place in the array is written once. Before, it is all zeros, which is no valid node. So a thread that finds a
 * matching node finds a complete one. A node is published in the index by one compare-and-swap of an empty slot; so a
 * fork, a signal or a kill at any instruction leaves the tree consistent, and no thread ever waits.
 *
 * A node may have two IDs, and this is correct. Two threads that insert the same node at the same time, or an insertion
 * into a table that is being replaced by a larger one, define it twice. The trace then has two equal nodes, which the
 * reader merges. So growth needs no waiting: the thread that grows a table copies the slots to a table of twice the
 * size and swaps the pointer; nodes that other threads insert into the old table meanwhile are just not found again.
 * The old table's pages are freed at once: a thread that still reads it finds empty slots.
 *
 * Cost: a look-up touches one cache line of a block, or two and one of the index. The tree is full at 4 M nodes (48 MB,
 * and 32 MB of index).
 */
#include "record/unwind/nodes.h"

#include <stdatomic.h>

#include "platform/arch.h"
#include "platform/os.h"
#include "record/own_ranges.h"
#include "record/session.h"

enum {
  NUMBER_BITS = HWI_OWN_NODE_BITS,
  NODE_LIMIT = 1 << NUMBER_BITS,
  NUMBER_MASK = NODE_LIMIT - 1,
  TABLE_COUNT = 256,
  TABLE_SHIFT = 56, /* of the hash: selects the table */
  TAG_SHIFT = 46,   /* 10 bits below that: the tag */
  FIRST_LOG2 = 4,   /* slots of a new table */
  SECOND_LOG2 = 10, /* fewest slots of a grown table: a page */
  ENTRY_SHIFT = HWI_OWN_NODE_ENTRY_SHIFT,
  HIGH_SHIFT = HWI_OWN_NODE_HIGH_SHIFT,
  BLOCK_LOG2 = HWI_OWN_NODE_BLOCK_LOG2,
  BLOCK_COUNT = NODE_LIMIT >> BLOCK_LOG2,
};

static_assert(sizeof(struct hwi_own_node) == 12 && NUMBER_BITS <= ENTRY_SHIFT, "a node is packed");

struct table {
  _Atomic uint64_t slots; /* their address << 8 | log2 of their number */
  _Atomic uint32_t used;
};

static struct {
  _Atomic uint32_t next; /* ID of the next node */
  _Atomic(struct hwi_own_node *) blocks[BLOCK_COUNT];
  struct table tables[TABLE_COUNT];
  _Atomic uint32_t first_slots[TABLE_COUNT << FIRST_LOG2];
} tree;

static uint64_t hash_of(const struct hwi_own_node *node)
{
  uint64_t h = ((uint64_t)node->parent_entry << 32 | node->address) ^ node->module_high;
  h *= UINT64_C(0x9e3779b97f4a7c15);
  h ^= h >> 29;
  h *= UINT64_C(0xbf58476d1ce4e5b9);
  return h ^ h >> 32;
}

static inline _Atomic uint32_t *slots_of(uint64_t table)
{
  return (_Atomic uint32_t *)(uintptr_t)(table >> 8);
}

static inline uint32_t mask_of(uint64_t table)
{
  return (UINT32_C(1) << (table & 63)) - 1;
}

static inline struct hwi_own_node *node_at(uint32_t number)
{
  return atomic_load_explicit(&tree.blocks[number >> BLOCK_LOG2], memory_order_acquire) +
         (number & ((1 << BLOCK_LOG2) - 1));
}

void hwi_nodes_init(void)
{
  for (size_t i = 0; i < TABLE_COUNT; i++)
    tree.tables[i].slots = (uint64_t)(uintptr_t)&tree.first_slots[i << FIRST_LOG2] << 8 | FIRST_LOG2;
  tree.next = 1;
  hwi_own_memory.tables.node_blocks = (uintptr_t)tree.blocks;
}

uint32_t hwi_nodes_count(void)
{
  uint32_t next = atomic_load_explicit(&tree.next, memory_order_relaxed);
  return next < NODE_LIMIT ? next : NODE_LIMIT;
}

/* Makes sure that the node's block exists. */
static bool reach(uint32_t number)
{
  _Atomic(struct hwi_own_node *) *block = &tree.blocks[number >> BLOCK_LOG2];
  struct hwi_own_node *none = NULL, *mine;
  if (atomic_load_explicit(block, memory_order_acquire))
    return true;
  mine = hwi_os_map(sizeof(struct hwi_own_node) << BLOCK_LOG2);
  if (mine && !atomic_compare_exchange_strong(block, &none, mine))
    hwi_os_unmap(mine, sizeof(struct hwi_own_node) << BLOCK_LOG2);
  return mine || none;
}

static void grow(struct table *table, uint64_t old)
{
  uint32_t log2 = (old & 63) < SECOND_LOG2 ? SECOND_LOG2 : (uint32_t)(old & 63) + 1, used = 0;
  uint32_t mask = (UINT32_C(1) << log2) - 1;
  void *start = hwi_os_map(sizeof(uint32_t) << log2);
  if (!start)
    return; /* the old table stays in use, fuller */
  uint64_t new = (uint64_t)(uintptr_t)start << 8 | log2;
  _Atomic uint32_t *from = slots_of(old), *to = slots_of(new);
  for (uint32_t i = 0; i <= mask_of(old); i++) {
    uint32_t slot = atomic_load_explicit(&from[i], memory_order_acquire);
    if (!slot)
      continue;
    uint32_t at = (uint32_t)hash_of(node_at(slot & NUMBER_MASK)) & mask;
    while (atomic_load_explicit(&to[at], memory_order_relaxed))
      at = (at + 1) & mask;
    atomic_store_explicit(&to[at], slot, memory_order_relaxed);
    used++;
  }
  if (!atomic_compare_exchange_strong(&table->slots, &old, new)) {
    hwi_os_unmap(start, sizeof(uint32_t) << log2); /* another thread was first */
    return;
  }
  atomic_store_explicit(&table->used, used, memory_order_relaxed);
  size_t old_bytes = sizeof(uint32_t) << (old & 63);
  if (old_bytes >= HWI_OS_PAGE_BYTES)
    hwi_os_map_reset(slots_of(old), old_bytes);
}

static inline bool is_same(const volatile struct hwi_own_node *node, const struct hwi_own_node *wanted)
{
  return node->address == wanted->address && node->parent_entry == wanted->parent_entry &&
         node->module_high == wanted->module_high;
}

/* Returns whether it is the node after its parent. */
static inline bool is_next(const struct hwi_own_node *wanted, uint32_t parent)
{
  uint32_t number = parent + 1;
  if (number >= NODE_LIMIT || !atomic_load_explicit(&tree.blocks[number >> BLOCK_LOG2], memory_order_acquire))
    return false;
  return is_same(node_at(number), wanted);
}

/* Writes the definition into the trace. */
static bool define(struct hwi_lane *lane, uint32_t number, const struct hwi_own_node *node)
{
  if (!hwi_lane_reserve(lane, HW_EVENT_MAX_BYTES))
    return false;
  uint64_t address = (uint64_t)(node->module_high >> HIGH_SHIFT) << 32 | node->address;
  uint32_t parent = node->parent_entry & ((1 << ENTRY_SHIFT) - 1), module = node->module_high & ((1 << HIGH_SHIFT) - 1);
  uint8_t entry = (uint8_t)(node->parent_entry >> ENTRY_SHIFT);
  bool is_child = number == lane->last_node + 1 && parent == lane->last_node;
  uint8_t *at = hwi_lane_begin(lane, is_child ? HW_OP_NODE_CHILD : HW_OP_NODE, lane->last_tick);
  if (!is_child) {
    at = hwi_put_varint(at, hwi_zigzag((int64_t)number - ((int64_t)lane->last_node + 1)));
    at = hwi_put_varint(at, hwi_zigzag((int64_t)number - (int64_t)parent));
  }
  at = hwi_put_varint(at, (uint64_t)module << 1 | (entry != 0));
  if (entry)
    *at++ = entry;
  at = hwi_put_varint(at, hwi_zigzag((int64_t)(address - lane->last_node_address)));
  lane->last_node_address = address;
  lane->last_node = number;
  hwi_lane_commit(lane, at);
  return true;
}

/* Gives the node the next ID. */
static uint32_t add(struct hwi_lane *lane, const struct hwi_own_node *node)
{
  if (atomic_load_explicit(&tree.next, memory_order_relaxed) >= NODE_LIMIT)
    return HWI_NODE_UNKNOWN;
  uint32_t number = atomic_fetch_add_explicit(&tree.next, 1, memory_order_relaxed);
  if (number >= NODE_LIMIT || !reach(number) || !define(lane, number, node))
    return HWI_NODE_UNKNOWN;
  atomic_thread_fence(memory_order_release);
  *(volatile struct hwi_own_node *)node_at(number) = *node;
  return number;
}

static void put_into_index(uint64_t hash, uint32_t number)
{
  struct table *table = &tree.tables[hash >> TABLE_SHIFT];
  uint64_t slots = atomic_load_explicit(&table->slots, memory_order_acquire);
  uint32_t mask = mask_of(slots), slot = (uint32_t)(hash >> TAG_SHIFT & 1023) << NUMBER_BITS | number;
  _Atomic uint32_t *to = slots_of(slots);
  for (uint32_t at = (uint32_t)hash & mask, tries = 0; tries <= mask; at = (at + 1) & mask, tries++) {
    uint32_t empty = 0;
    if (atomic_compare_exchange_strong_explicit(&to[at], &empty, slot, memory_order_release, memory_order_relaxed))
      break;
  }
  if (atomic_fetch_add_explicit(&table->used, 1, memory_order_relaxed) > mask - mask / 4)
    grow(table, slots);
}

static uint32_t find_in_index(uint64_t hash, const struct hwi_own_node *wanted)
{
  uint64_t slots = atomic_load_explicit(&tree.tables[hash >> TABLE_SHIFT].slots, memory_order_acquire);
  uint32_t mask = mask_of(slots), tag = (uint32_t)(hash >> TAG_SHIFT & 1023);
  const _Atomic uint32_t *from = slots_of(slots);
  for (uint32_t at = (uint32_t)hash & mask, tries = 0; tries <= mask; at = (at + 1) & mask, tries++) {
    uint32_t slot = atomic_load_explicit(&from[at], memory_order_acquire);
    if (!slot)
      break;
    if (slot >> NUMBER_BITS == tag && is_same(node_at(slot & NUMBER_MASK), wanted))
      return slot & NUMBER_MASK;
  }
  return 0;
}

static inline struct hwi_own_node node_of(uint32_t parent, uintptr_t address, uint32_t module, uint8_t entry)
{
  return (struct hwi_own_node){(uint32_t)address, parent | (uint32_t)entry << ENTRY_SHIFT,
                               module | (uint32_t)((uint64_t)address >> 32) << HIGH_SHIFT};
}

/* Returns whether it is the latest node, so that no node is below it. */
static inline bool is_childless(uint32_t number)
{
  return atomic_load_explicit(&tree.next, memory_order_relaxed) == number + 1;
}

static uint32_t add_to_index(struct hwi_lane *lane, const struct hwi_own_node *wanted, uint32_t parent)
{
  uint32_t number = add(lane, wanted);
  if (number != HWI_NODE_UNKNOWN && number != parent + 1)
    put_into_index(hash_of(wanted), number);
  return number;
}

uint32_t hwi_nodes_follow(struct hwi_lane *lane, uint32_t parent, uintptr_t address, uint32_t module, uint8_t entry)
{
  if (__builtin_expect(parent == HWI_NODE_UNKNOWN, 0))
    return parent;
  struct hwi_own_node wanted = node_of(parent, address, module, entry);
  if (__builtin_expect(is_next(&wanted, parent), 1))
    return parent + 1;
  return is_childless(parent) ? add_to_index(lane, &wanted, parent) : 0;
}

uint32_t hwi_nodes_find(struct hwi_lane *lane, uint32_t parent, uintptr_t address, uint32_t module, uint8_t entry)
{
  uint32_t number = hwi_nodes_follow(lane, parent, address, module, entry);
  if (number)
    return number;
  struct hwi_own_node wanted = node_of(parent, address, module, entry);
  number = find_in_index(hash_of(&wanted), &wanted);
  return number ? number : add_to_index(lane, &wanted, parent);
}
