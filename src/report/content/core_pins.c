/* core_pins.c - who allocated the blocks that keep free memory from being returned */
#include "report/content/core_pins.h"

#include <stdlib.h>

/* A block and its stack: that of the recording, or the one in front of the block. */
struct pinned {
  const struct hwi_core_block *block;
  uint64_t stack;
};

enum { OF_OWNER = 1 }; /* the lowest bit of `stack`: a stack of owners, not of the recording */

static int by_stack(const void *left, const void *right)
{
  const struct pinned *a = left, *b = right;
  if (a->stack != b->stack)
    return a->stack < b->stack ? -1 : 1;
  return a->block->address < b->block->address ? -1 : a->block->address > b->block->address;
}

/* Returns 0 if the stack is not known. */
static uint64_t stack_of(const struct hwi_core_names *names, const struct hwi_core_block *block)
{
  const struct hwi_core_heap *heap = names->heap;
  const struct hwi_recorded_block *recorded =
      names->frames ? hwi_recorded_blocks_find(names->recorded, block->address) : NULL;
  if (recorded)
    return (uint64_t)recorded->stack << 1;
  const uint32_t stack = heap->owners ? heap->owners[block - heap->blocks].stack : 0;
  return stack ? (uint64_t)stack << 1 | OF_OWNER : 0;
}

/* Keeps those with most blocks, in order. */
static void add(struct hwi_pin_owner *owners, size_t *count, const struct hwi_pin_owner *owner)
{
  size_t at = *count;
  if (at == HWI_PIN_OWNERS_MAX && owner->blocks <= owners[at - 1].blocks)
    return;
  *count += at < HWI_PIN_OWNERS_MAX;
  for (at = *count - 1; at > 0 && owners[at - 1].blocks < owner->blocks; at--)
    owners[at] = owners[at - 1];
  owners[at] = *owner;
}

size_t hwi_pin_owners_find(const struct hwi_core_names *names, const struct hwi_pin *pin,
                           struct hwi_pin_owner owners[HWI_PIN_OWNERS_MAX])
{
  const struct hwi_core_heap *heap = names->heap;
  const struct hwi_core_block *block = heap->blocks + hwi_core_heap_first_from(heap, pin->address);
  const struct hwi_core_block *end = heap->blocks + heap->block_count;
  struct pinned *pinned = calloc(pin->blocks, sizeof *pinned);
  size_t known = 0, count = 0;
  for (uint64_t left = pin->blocks; pinned && block < end && left > 0; block++) {
    if (hwi_core_block_is_free(block))
      continue;
    left--;
    const uint64_t stack = stack_of(names, block);
    if (stack)
      pinned[known++] = (struct pinned){block, stack};
  }
  if (known > 0)
    qsort(pinned, known, sizeof *pinned, by_stack);
  struct hwi_pin_owner owner = {0};
  for (size_t i = 0; i < known; i++) {
    owner.block = owner.blocks ? owner.block : pinned[i].block;
    owner.blocks++;
    owner.bytes += hwi_core_block_bytes(pinned[i].block);
    if (i + 1 < known && pinned[i + 1].stack == pinned[i].stack)
      continue;
    add(owners, &count, &owner);
    owner = (struct hwi_pin_owner){0};
  }
  free(pinned);
  return count;
}
