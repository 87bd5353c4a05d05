/* kept.h - blocks that are used by the account of their slab or span, but not by the program: in caches of threads, for example */
#ifndef HWI_MEMORY_HEAPS_KEPT_H
#define HWI_MEMORY_HEAPS_KEPT_H

#include "memory/heaps/heap.h"

struct hwi_kept {
  uint64_t address;
  enum hwi_core_block_state state;
  bool is_met; /* there is such a block */
};

/* All zero: empty. */
struct hwi_kept_list {
  struct hwi_kept *items;
  size_t count, capacity; /* a list of table.h */
};

/* Returns false if there is no memory. */
bool hwi_kept_add(struct hwi_kept_list *list, uint64_t address, enum hwi_core_block_state state);

/* To be called when all are added, before the next two. */
void hwi_kept_sort(struct hwi_kept_list *list);

/* Returns the state of a block that is used: live if it is not in the list. */
enum hwi_core_block_state hwi_kept_state(struct hwi_kept_list *list, uint64_t block);

/* To be called when all blocks are known: notes what is twice in the list, and what is no block. */
void hwi_kept_note_damage(const struct hwi_kept_list *list, struct hwi_core_heap *heap);

void hwi_kept_release(struct hwi_kept_list *list);

#endif
