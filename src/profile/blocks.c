/* blocks.c - the live blocks of an image, in as little memory as the totals need
 *
 * The regions, their blocks and the kinds are found by open addressing with linear probing. Removal of a block shifts the
 * followers back, so that there are no tombstones; regions and kinds are never removed.
 *
 * A block's home is its place in the region, counted in granules as allocators align, modulo the table: neighbours share cache
 * lines, and a table with a slot for each granule has no collisions. Smaller ones can have long runs of full slots, but not
 * longer than a region's table, which is why regions are small.
 */
#include "profile/blocks.h"

#include <stdlib.h>

#include "trace/grow.h"

enum { GRANULE_BITS = 4, REGION_FIRST_SLOTS = 8, FIRST_SLOTS = 64 };

static size_t mix(uint64_t key)
{
  key = (key ^ key >> 31) * UINT64_C(0x9E3779B97F4A7C15);
  return (size_t)(key ^ key >> 32);
}

/* --- regions --- */

static uint32_t offset_of(uint64_t address)
{
  return (uint32_t)address & ((UINT32_C(1) << HWI_REGION_BITS) - 1);
}

/* Any but the one used last. */
static struct hwi_region *find_other_region(struct hwi_blocks *blocks, uint64_t number)
{
  for (size_t at = mix(number) & blocks->region_mask; blocks->region_slots[at]; at = (at + 1) & blocks->region_mask) {
    size_t index = blocks->region_slots[at] - 1;
    if (blocks->regions[index].number == number) {
      blocks->last_region = index;
      return &blocks->regions[index];
    }
  }
  return NULL;
}

/* NULL: none with this number. */
static inline struct hwi_region *find_region(struct hwi_blocks *blocks, uint64_t number)
{
  if (!blocks->region_count)
    return NULL;
  struct hwi_region *last = &blocks->regions[blocks->last_region];
  return last->number == number ? last : find_other_region(blocks, number);
}

static bool grow_region_slots(struct hwi_blocks *blocks)
{
  size_t slot_count = blocks->region_slots ? (blocks->region_mask + 1) * 2 : FIRST_SLOTS;
  uint32_t *slots = calloc(slot_count, sizeof *slots);
  if (!slots)
    return false;
  for (size_t i = 0; i < blocks->region_count; i++) {
    size_t at = mix(blocks->regions[i].number) & (slot_count - 1);
    while (slots[at])
      at = (at + 1) & (slot_count - 1);
    slots[at] = (uint32_t)i + 1;
  }
  free(blocks->region_slots);
  blocks->region_slots = slots;
  blocks->region_mask = slot_count - 1;
  return true;
}

/* NULL: no memory. */
static struct hwi_region *add_region(struct hwi_blocks *blocks, uint64_t number)
{
  bool is_full = !blocks->region_slots || blocks->region_count * 2 > blocks->region_mask;
  if (blocks->region_count == UINT32_MAX || (is_full && !grow_region_slots(blocks)) ||
      !hwi_grow((void **)&blocks->regions, &blocks->region_capacity, blocks->region_count + 1, sizeof *blocks->regions))
    return NULL;
  struct hwi_region region = {.number = number, .mask = REGION_FIRST_SLOTS - 1};
  region.slots = calloc(REGION_FIRST_SLOTS, sizeof *region.slots);
  if (!region.slots)
    return NULL;
  size_t at = mix(number) & blocks->region_mask;
  while (blocks->region_slots[at])
    at = (at + 1) & blocks->region_mask;
  blocks->last_region = blocks->region_count++;
  blocks->region_slots[at] = (uint32_t)blocks->region_count;
  blocks->regions[blocks->last_region] = region;
  return &blocks->regions[blocks->last_region];
}

/* --- the blocks of a region --- */

/* What lies within a granule comes in by the upper bits, where only a table that has more slots than granules looks. */
static uint32_t home_of(const struct hwi_region *region, uint32_t offset)
{
  return (offset >> GRANULE_BITS | offset << (HWI_REGION_BITS - GRANULE_BITS)) & region->mask;
}

/* The slot of the block, or the empty one where it belongs. */
static struct hwi_region_slot *find_slot(const struct hwi_region *region, uint32_t offset)
{
  uint32_t at = home_of(region, offset);
  while (region->slots[at].kind && region->slots[at].offset != offset)
    at = (at + 1) & region->mask;
  return &region->slots[at];
}

static bool grow_region(struct hwi_region *region)
{
  struct hwi_region larger = *region;
  larger.mask = region->mask * 2 + 1;
  larger.slots = calloc((size_t)larger.mask + 1, sizeof *larger.slots);
  if (!larger.slots)
    return false;
  for (size_t i = 0; i <= region->mask; i++)
    if (region->slots[i].kind)
      *find_slot(&larger, region->slots[i].offset) = region->slots[i];
  free(region->slots);
  *region = larger;
  return true;
}

static void remove_slot(struct hwi_region *region, struct hwi_region_slot *slot)
{
  uint32_t hole = (uint32_t)(slot - region->slots), mask = region->mask;
  for (uint32_t at = (hole + 1) & mask; region->slots[at].kind; at = (at + 1) & mask) {
    uint32_t home = home_of(region, region->slots[at].offset);
    if (((at - home) & mask) >= ((at - hole) & mask)) { /* its home is not behind the hole */
      region->slots[hole] = region->slots[at];
      hole = at;
    }
  }
  region->slots[hole].kind = 0;
  region->count--;
}

/* --- kinds --- */

static size_t hash_kind(const struct hwi_block *kind)
{
  return mix(kind->size ^ (uint64_t)kind->thread << 42);
}

static bool grow_kind_slots(struct hwi_blocks *blocks)
{
  size_t slot_count = blocks->kind_slots ? (blocks->kind_mask + 1) * 2 : FIRST_SLOTS;
  uint32_t *slots = calloc(slot_count, sizeof *slots);
  if (!slots)
    return false;
  for (size_t i = 1; i < blocks->kind_count; i++) {
    size_t at = hash_kind(&blocks->kinds[i]) & (slot_count - 1);
    while (slots[at])
      at = (at + 1) & (slot_count - 1);
    slots[at] = (uint32_t)i;
  }
  free(blocks->kind_slots);
  blocks->kind_slots = slots;
  blocks->kind_mask = slot_count - 1;
  return true;
}

/* The number of the kind, made where there is none; 0: no memory. */
static uint32_t find_kind(struct hwi_blocks *blocks, const struct hwi_block *block)
{
  if (!blocks->kind_slots && !grow_kind_slots(blocks))
    return 0;
  size_t at = hash_kind(block) & blocks->kind_mask;
  for (; blocks->kind_slots[at]; at = (at + 1) & blocks->kind_mask) {
    const struct hwi_block *kind = &blocks->kinds[blocks->kind_slots[at]];
    if (kind->size == block->size && kind->thread == block->thread)
      return blocks->kind_slots[at];
  }
  size_t number = blocks->kind_count ? blocks->kind_count : 1;
  if (number >= UINT32_MAX ||
      !hwi_grow((void **)&blocks->kinds, &blocks->kind_capacity, number + 1, sizeof *blocks->kinds))
    return 0;
  blocks->kinds[number] = *block;
  blocks->kind_count = number + 1;
  blocks->kind_slots[at] = (uint32_t)number;
  if (blocks->kind_count * 2 > blocks->kind_mask && !grow_kind_slots(blocks))
    return 0;
  return (uint32_t)number;
}

/* --- the whole --- */

bool hwi_blocks_put(struct hwi_blocks *blocks, uint64_t address, const struct hwi_block *block,
                    const struct hwi_block **replaced)
{
  struct hwi_region *region = find_region(blocks, address >> HWI_REGION_BITS);
  if (!region && !(region = add_region(blocks, address >> HWI_REGION_BITS)))
    return false;
  if (region->count >= (region->mask + 1) / 4 * 3 && !grow_region(region))
    return false;
  uint32_t kind = find_kind(blocks, block);
  if (!kind)
    return false;
  struct hwi_region_slot *slot = find_slot(region, offset_of(address));
  *replaced = slot->kind ? &blocks->kinds[slot->kind] : NULL;
  region->count += !slot->kind;
  blocks->count += !slot->kind;
  *slot = (struct hwi_region_slot){offset_of(address), kind};
  return true;
}

const struct hwi_block *hwi_blocks_take(struct hwi_blocks *blocks, uint64_t address)
{
  struct hwi_region *region = find_region(blocks, address >> HWI_REGION_BITS);
  struct hwi_region_slot *slot = region ? find_slot(region, offset_of(address)) : NULL;
  if (!slot || !slot->kind)
    return NULL;
  const struct hwi_block *taken = &blocks->kinds[slot->kind];
  remove_slot(region, slot);
  blocks->count--;
  return taken;
}

bool hwi_blocks_has(struct hwi_blocks *blocks, uint64_t address)
{
  const struct hwi_region *region = find_region(blocks, address >> HWI_REGION_BITS);
  return region && find_slot(region, offset_of(address))->kind;
}

void hwi_blocks_release(struct hwi_blocks *blocks)
{
  for (size_t i = 0; i < blocks->region_count; i++)
    free(blocks->regions[i].slots);
  free(blocks->regions);
  free(blocks->region_slots);
  free(blocks->kinds);
  free(blocks->kind_slots);
  *blocks = (struct hwi_blocks){0};
}
