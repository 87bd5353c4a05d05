/* kept.c - blocks that are used by the account of their slab or span, but not by the program */
#include "memory/heaps/kept.h"

#include <stdlib.h>

#include "trace/table.h"

bool hwi_kept_add(struct hwi_kept_list *list, uint64_t address, enum hwi_core_block_state state)
{
  if (!hwi_table_grow((void **)&list->items, &list->capacity, list->count + 1, sizeof *list->items))
    return false;
  list->items[list->count++] = (struct hwi_kept){address, state, false};
  return true;
}

static int compare(const void *a, const void *b)
{
  const struct hwi_kept *x = a, *y = b;
  return x->address < y->address ? -1 : x->address > y->address;
}

void hwi_kept_sort(struct hwi_kept_list *list)
{
  if (list->count)
    qsort(list->items, list->count, sizeof *list->items, compare);
}

enum hwi_core_block_state hwi_kept_state(struct hwi_kept_list *list, uint64_t block)
{
  size_t low = 0, high = list->count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (list->items[middle].address < block)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == list->count || list->items[low].address != block)
    return HWI_CORE_BLOCK_LIVE;
  list->items[low].is_met = true;
  return list->items[low].state;
}

void hwi_kept_note_damage(const struct hwi_kept_list *list, struct hwi_core_heap *heap)
{
  for (size_t i = 0; i < list->count; i++)
    if (i && list->items[i].address == list->items[i - 1].address)
      hwi_core_heap_note_damage(heap, list->items[i].address,
                                "the block here is twice in the caches of threads: it was freed twice");
    else if (!list->items[i].is_met)
      hwi_core_heap_note_damage(heap, list->items[i].address,
                                "the cache of a thread has this address, where no block in use begins");
}

void hwi_kept_release(struct hwi_kept_list *list)
{
  hwi_table_release(list->items, list->capacity * sizeof *list->items);
  *list = (struct hwi_kept_list){0};
}
