/* fragmentation.c - the free memory of a heap that the allocator cannot give back, and the blocks that hold it
 *
 * From the top chunk of an arena downwards, blocks follow each other. After each live block, the free memory so far would be
 * at the end of the arena if the live blocks so far were not there. The best place is the one with most free memory among those
 * where the live blocks are small compared to it.
 */
#include "memory/heaps/fragmentation.h"

enum {
  MOST_BETWEEN = 64,    /* between two blocks that follow each other: a header and what is lost for alignment */
  TIMES_SMALLER = 16,   /* live blocks must be so much smaller than what they hold */
  LEAST_HELD = 1 << 20, /* less is of no interest */
};

static uint64_t whole_pages(const struct hwi_core_block *block)
{
  const uint64_t first = (block->address + HWI_MEMORY_PAGE_BYTES - 1) / HWI_MEMORY_PAGE_BYTES * HWI_MEMORY_PAGE_BYTES;
  const uint64_t end = hwi_core_block_end(block) / HWI_MEMORY_PAGE_BYTES * HWI_MEMORY_PAGE_BYTES;
  return end > first ? end - first : 0;
}

static bool follows(const struct hwi_core_block *block, const struct hwi_core_block *next)
{
  const uint64_t end = hwi_core_block_end(block);
  return next->address >= end && next->address - end <= MOST_BETWEEN;
}

/* Returns the best place below the top chunk with this number. */
static struct hwi_pin pin_below(const struct hwi_core_heap *heap, size_t top)
{
  struct hwi_pin so_far = {0}, best = {0};
  for (size_t i = top; i-- > 0 && follows(&heap->blocks[i], &heap->blocks[i + 1]);) {
    const struct hwi_core_block *block = &heap->blocks[i];
    if (hwi_core_block_is_free(block)) {
      so_far.held_bytes += so_far.blocks ? hwi_core_block_bytes(block) : 0;
    } else {
      so_far.address = block->address;
      so_far.blocks++;
      so_far.bytes += hwi_core_block_bytes(block);
    }
    if (so_far.held_bytes > best.held_bytes && so_far.held_bytes / TIMES_SMALLER >= so_far.bytes)
      best = so_far;
  }
  return best;
}

/* Keeps those with most held bytes, in order. */
static void add(struct hwi_fragmentation *fragmentation, const struct hwi_pin *pin)
{
  size_t at = fragmentation->pin_count;
  if (pin->held_bytes < LEAST_HELD || (at == HWI_PINS_MAX && pin->held_bytes <= fragmentation->pins[at - 1].held_bytes))
    return;
  fragmentation->pin_count += at < HWI_PINS_MAX;
  for (at = fragmentation->pin_count - 1; at > 0 && fragmentation->pins[at - 1].held_bytes < pin->held_bytes; at--)
    fragmentation->pins[at] = fragmentation->pins[at - 1];
  fragmentation->pins[at] = *pin;
}

void hwi_fragmentation_find(struct hwi_fragmentation *fragmentation, const struct hwi_core_heap *heap)
{
  *fragmentation = (struct hwi_fragmentation){0};
  for (size_t i = 0; i < heap->block_count; i++) {
    const struct hwi_core_block *block = &heap->blocks[i];
    if (hwi_core_block_state(block) == HWI_CORE_BLOCK_FREE || hwi_core_block_state(block) == HWI_CORE_BLOCK_TOP)
      fragmentation->page_bytes += whole_pages(block);
    if (hwi_core_block_state(block) == HWI_CORE_BLOCK_TOP) {
      const struct hwi_pin pin = pin_below(heap, i);
      add(fragmentation, &pin);
    }
  }
}
