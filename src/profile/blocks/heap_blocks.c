/* heap_blocks.c - the live blocks of the heaps that a program gives out itself */
#include "profile/blocks/heap_blocks.h"

#include <stdlib.h>

#include "trace/grow.h"

void hwi_heap_blocks_release(struct hwi_heap_blocks *heaps)
{
  free(heaps->heaps);
  free(heaps->blocks);
  hwi_live_release(&heaps->numbers);
  hwi_live_release(&heaps->live);
  *heaps = (struct hwi_heap_blocks){0};
}

/* Returns what the table of numbers takes for the address: numbers that follow each other are neighbours. */
static uint64_t key_of_number(uint32_t number)
{
  return ((uint64_t)number + 1) << HWI_LIVE_STEP_BITS;
}

/* Adds an item to a list in which numbers begin at 1. Returns its number, or 0 if there is no memory. */
static uint32_t add_place(void **items, size_t *capacity, uint32_t *count, size_t item_bytes)
{
  const uint32_t place = *count + 1;
  if (place == UINT32_MAX || !hwi_grow(items, capacity, (size_t)place + 1, item_bytes))
    return 0;
  return *count = place;
}

/* Returns a free place for a heap, or 0 if there is no memory. */
static uint32_t take_heap(struct hwi_heap_blocks *heaps)
{
  const uint32_t free_place = heaps->free_heap;
  if (free_place) {
    heaps->free_heap = heaps->heaps[free_place].first;
    return free_place;
  }
  return add_place((void **)&heaps->heaps, &heaps->heap_capacity, &heaps->heap_count, sizeof *heaps->heaps);
}

uint32_t hwi_heap_blocks_heap(struct hwi_heap_blocks *heaps, uint32_t number)
{
  const uint64_t key = key_of_number(number);
  if (!heaps->numbers.slots && (!hwi_live_init(&heaps->numbers) || !hwi_live_init(&heaps->live)))
    return 0;
  const struct hwi_live_slot *known = hwi_live_slot(&heaps->numbers, key);
  if (known->address)
    return known->number;
  const uint32_t heap = hwi_live_grow(&heaps->numbers) ? take_heap(heaps) : 0;
  if (!heap)
    return 0;
  *hwi_live_slot(&heaps->numbers, key) = (struct hwi_live_slot){.address = key, .number = heap};
  heaps->numbers.count++;
  heaps->heaps[heap] = (struct hwi_block_heap){.number = number};
  return heap;
}

void hwi_heap_blocks_end_heap(struct hwi_heap_blocks *heaps, uint32_t heap)
{
  struct hwi_block_heap *of = &heaps->heaps[heap];
  while (of->first)
    hwi_heap_blocks_remove(heaps, of->first);
  hwi_live_remove(&heaps->numbers, hwi_live_slot(&heaps->numbers, key_of_number(of->number)));
  *of = (struct hwi_block_heap){.first = heaps->free_heap};
  heaps->free_heap = heap;
}

/* Returns what the table of live blocks takes for the block's address: neighbours in a heap stay neighbours. Two blocks
 * have the same key only by a coincidence of 64-bit numbers, or in a forged trace: then the later one replaces the other. */
static uint64_t key_of(uint32_t heap, uint64_t address)
{
  const uint64_t key = address + (heap * UINT64_C(0x9E3779B97F4A7C15) & ~UINT64_C(0xffff));
  return key ? key : 1;
}

static void unlink_block(struct hwi_heap_blocks *heaps, uint32_t number)
{
  const struct hwi_heap_block *block = &heaps->blocks[number];
  if (block->before)
    heaps->blocks[block->before].after = block->after;
  else
    heaps->heaps[block->heap].first = block->after;
  if (block->after)
    heaps->blocks[block->after].before = block->before;
}

/* Returns a free place for a block, or 0 if there is no memory. */
static uint32_t take_place(struct hwi_heap_blocks *heaps)
{
  const uint32_t free_place = heaps->free_block;
  if (free_place) {
    heaps->free_block = heaps->blocks[free_place].after;
    return free_place;
  }
  return add_place((void **)&heaps->blocks, &heaps->block_capacity, &heaps->block_count, sizeof *heaps->blocks);
}

uint32_t hwi_heap_blocks_find(const struct hwi_heap_blocks *heaps, uint32_t heap, uint64_t address)
{
  const struct hwi_live_slot *slot = hwi_live_slot(&heaps->live, key_of(heap, address));
  return slot->address && heaps->blocks[slot->number].heap == heap ? slot->number : 0;
}

uint32_t hwi_heap_blocks_add(struct hwi_heap_blocks *heaps, uint32_t heap, uint64_t address, uint64_t size)
{
  if (!hwi_live_grow(&heaps->live))
    return 0;
  const uint64_t key = key_of(heap, address);
  const struct hwi_live_slot *other = hwi_live_slot(&heaps->live, key);
  if (other->address)
    hwi_heap_blocks_remove(heaps, other->number);
  const uint32_t number = take_place(heaps);
  struct hwi_block_heap *of = &heaps->heaps[heap];
  if (!number)
    return 0;
  heaps->blocks[number] = (struct hwi_heap_block){.address = address, .size = size, .heap = heap, .after = of->first};
  if (of->first)
    heaps->blocks[of->first].before = number;
  of->first = number;
  of->live_blocks++;
  of->live_bytes += size;
  *hwi_live_slot(&heaps->live, key) = (struct hwi_live_slot){.address = key, .number = number};
  heaps->live.count++;
  return number;
}

void hwi_heap_blocks_remove(struct hwi_heap_blocks *heaps, uint32_t number)
{
  struct hwi_heap_block *block = &heaps->blocks[number];
  struct hwi_block_heap *of = &heaps->heaps[block->heap];
  hwi_live_remove(&heaps->live, hwi_live_slot(&heaps->live, key_of(block->heap, block->address)));
  unlink_block(heaps, number);
  of->live_blocks--;
  of->live_bytes -= block->size;
  *block = (struct hwi_heap_block){.after = heaps->free_block};
  heaps->free_block = number;
}
