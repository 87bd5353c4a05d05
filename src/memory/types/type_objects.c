/* type_objects.c - blocks that begin with an object of a class with virtual functions
 *
 * The search asks for nearly each block, and in the order of pointers, whether it is one. Therefore the first words of all blocks are
 * read before, in the order of their addresses, which takes a fraction of the time: few are addresses in a module.
 */
#include <stdlib.h>

#include "memory/types/type_spread.h"

enum {
  WORD_BITS = 64,
  AHEAD = 16, /* blocks whose first words are fetched */
};

bool hwi_type_objects_init(struct hwi_type_spread *spread)
{
  const struct hwi_core_heap *heap = spread->types->heap;
  const struct hwi_core_modules *modules = spread->types->vtables.modules;
  uint64_t word;
  spread->begins_in_module = calloc(heap->block_count / WORD_BITS + 1, sizeof *spread->begins_in_module);
  for (size_t i = 0; i < heap->block_count && spread->begins_in_module; i++) {
    if (i + AHEAD < heap->block_count)
      hwi_type_fetch(spread, heap->blocks[i + AHEAD].address);
    if (hwi_core_block_state(&heap->blocks[i]) == HWI_CORE_BLOCK_LIVE &&
        hwi_memory_word(&spread->reader, heap->blocks[i].address, &word) && hwi_core_modules_of(modules, word))
      spread->begins_in_module[i / WORD_BITS] |= (uint64_t)1 << i % WORD_BITS;
  }
  return spread->begins_in_module;
}

void hwi_type_objects_release(struct hwi_type_spread *spread)
{
  free(spread->begins_in_module);
}

bool hwi_type_objects_label(struct hwi_type_spread *spread, uint32_t block, uint32_t origin)
{
  struct hwi_block_types *types = spread->types;
  struct hwi_block_label label = {.form = HWI_FORM_VTABLE, .origin = origin};
  if (!hwi_type_begins_in_module(spread, block))
    return false;
  if (!hwi_vtables_type_of(&types->vtables, &types->heap->blocks[block], &label.vtable))
    spread->failed = true;
  if (!label.vtable)
    return false;
  label.type = hwi_data_types_named(&types->data, hwi_vtables_name(&types->vtables, label.vtable));
  if (label.type &&
      hwi_data_types_get(&types->data, label.type)->bytes > hwi_core_block_bytes(&types->heap->blocks[block]))
    label.type = 0;
  hwi_type_spread_label(spread, block, &label, 1);
  return true;
}

void hwi_type_objects_spread(struct hwi_type_spread *spread)
{
  for (size_t i = 0; i < spread->types->heap->block_count && !spread->failed; i++)
    if (hwi_type_begins_in_module(spread, (uint32_t)i) && !spread->label_of[i] &&
        hwi_type_objects_label(spread, (uint32_t)i, 0))
      hwi_type_spread_run(spread);
}
