/* blocks.c - the live blocks of an image
 *
 * Regions and kinds are found by open addressing with linear probing. They are never removed. Their tables are half
 * full, since a region is searched for almost every event: with trace/hash_table.h, counting takes up to 6 % more
 * instructions.
 */
#include "profile/blocks/blocks.h"

#include <assert.h>
#include <stdlib.h>

#include "base/hash.h"
#include "trace/grow.h"

enum { FIRST_SLOTS = 64, SLAB_PAGES = 256, GRANULE_MASK = (1 << HWI_GRANULE_BITS) - 1 };

static_assert(HWI_BLOCK_PAGE_GRANULES << HWI_GRANULE_BITS == 1 << HWI_BLOCK_PAGE_BITS, "a page is its granules");
static_assert(HWI_REGION_PAGES << HWI_BLOCK_PAGE_BITS == 1 << HWI_REGION_BITS, "a region is its pages");

/* --- regions --- */

/* Finds any region except the one used last. */
static struct hwi_block_region *find_other_region(struct hwi_blocks *blocks, uint64_t number)
{
  for (size_t at = hwi_hash_number(number) & blocks->region_mask; blocks->region_slots[at];
       at = (at + 1) & blocks->region_mask) {
    size_t index = blocks->region_slots[at] - 1;
    if (blocks->regions[index].number == number) {
      blocks->last_region = index;
      return &blocks->regions[index];
    }
  }
  return NULL;
}

/* Returns NULL if there is none with this number. */
static inline struct hwi_block_region *find_region(struct hwi_blocks *blocks, uint64_t number)
{
  if (!blocks->region_count)
    return NULL;
  struct hwi_block_region *last = &blocks->regions[blocks->last_region];
  return last->number == number ? last : find_other_region(blocks, number);
}

static bool grow_region_slots(struct hwi_blocks *blocks)
{
  size_t slot_count = blocks->region_slots ? (blocks->region_mask + 1) * 2 : FIRST_SLOTS;
  uint32_t *slots = calloc(slot_count, sizeof *slots);
  if (!slots)
    return false;
  for (size_t i = 0; i < blocks->region_count; i++) {
    size_t at = hwi_hash_number(blocks->regions[i].number) & (slot_count - 1);
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
static struct hwi_block_region *add_region(struct hwi_blocks *blocks, uint64_t number)
{
  bool is_full = !blocks->region_slots || blocks->region_count * 2 > blocks->region_mask;
  if (blocks->region_count == UINT32_MAX || (is_full && !grow_region_slots(blocks)) ||
      !hwi_grow((void **)&blocks->regions, &blocks->region_capacity, blocks->region_count + 1, sizeof *blocks->regions))
    return NULL;
  size_t at = hwi_hash_number(number) & blocks->region_mask;
  while (blocks->region_slots[at])
    at = (at + 1) & blocks->region_mask;
  blocks->last_region = blocks->region_count++;
  blocks->region_slots[at] = (uint32_t)blocks->region_count;
  blocks->regions[blocks->last_region] = (struct hwi_block_region){.number = number};
  return &blocks->regions[blocks->last_region];
}

/* --- pages --- */

static unsigned page_of(uint64_t address)
{
  return (unsigned)(address >> HWI_BLOCK_PAGE_BITS) % HWI_REGION_PAGES;
}

static uint32_t *slot_of(union hwi_block_page *page, uint64_t address)
{
  return &page->kinds[(address >> HWI_GRANULE_BITS) % HWI_BLOCK_PAGE_GRANULES];
}

static bool add_slab(struct hwi_blocks *blocks)
{
  if (!hwi_grow((void **)&blocks->slabs, &blocks->slab_capacity, blocks->slab_count + 1, sizeof *blocks->slabs))
    return false;
  union hwi_block_page *slab = calloc(SLAB_PAGES, sizeof *slab);
  if (!slab)
    return false;
  blocks->slabs[blocks->slab_count++] = slab;
  for (size_t i = 0; i < SLAB_PAGES; i++) {
    slab[i].next = blocks->free_pages;
    blocks->free_pages = &slab[i];
  }
  return true;
}

/* NULL: no memory. */
static union hwi_block_page *take_page(struct hwi_blocks *blocks)
{
  if (!blocks->free_pages && !add_slab(blocks))
    return NULL;
  union hwi_block_page *page = blocks->free_pages;
  blocks->free_pages = page->next;
  page->next = NULL;
  return page;
}

static void give_page_back(struct hwi_blocks *blocks, union hwi_block_page *page)
{
  page->next = blocks->free_pages;
  blocks->free_pages = page;
}

/* --- kinds --- */

static size_t hash_kind(const struct hwi_block *kind)
{
  return hwi_hash_number(kind->size ^ (uint64_t)kind->thread << 42 ^ (uint64_t)kind->weight << 21);
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

/* Returns the number of the kind; a new kind is made if there is none. Returns 0 if there is no memory. */
static uint32_t find_kind(struct hwi_blocks *blocks, const struct hwi_block *block)
{
  if (!blocks->kind_slots && !grow_kind_slots(blocks))
    return 0;
  size_t at = hash_kind(block) & blocks->kind_mask;
  for (; blocks->kind_slots[at]; at = (at + 1) & blocks->kind_mask) {
    const struct hwi_block *kind = &blocks->kinds[blocks->kind_slots[at]];
    if (kind->size == block->size && kind->thread == block->thread && kind->weight == block->weight)
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

/* --- odd blocks --- */

static const struct hwi_block *kind_at(const struct hwi_blocks *blocks, uint32_t kind)
{
  return kind ? &blocks->kinds[kind] : NULL;
}

static bool put_odd(struct hwi_blocks *blocks, uint64_t address, uint32_t kind, const struct hwi_block **replaced)
{
  if ((!blocks->odd.slots && !hwi_live_init(&blocks->odd)) || !hwi_live_grow(&blocks->odd))
    return false;
  struct hwi_live_slot *slot = hwi_live_slot(&blocks->odd, address);
  bool is_new = !slot->address;
  *replaced = is_new ? NULL : kind_at(blocks, slot->number);
  *slot = (struct hwi_live_slot){.address = address, .number = kind};
  blocks->odd.count += is_new;
  blocks->count += is_new;
  return true;
}

static const struct hwi_block *take_odd(struct hwi_blocks *blocks, uint64_t address)
{
  struct hwi_live_slot *slot = blocks->odd.slots ? hwi_live_slot(&blocks->odd, address) : NULL;
  if (!slot || !slot->address)
    return NULL;
  uint32_t kind = slot->number;
  hwi_live_remove(&blocks->odd, slot);
  blocks->count--;
  return kind_at(blocks, kind);
}

static bool is_odd(uint64_t address)
{
  return address & GRANULE_MASK;
}

/* --- all blocks --- */

bool hwi_blocks_put(struct hwi_blocks *blocks, uint64_t address, const struct hwi_block *block,
                    const struct hwi_block **replaced)
{
  uint32_t kind = find_kind(blocks, block);
  if (!kind)
    return false;
  if (is_odd(address))
    return put_odd(blocks, address, kind, replaced);
  struct hwi_block_region *region = find_region(blocks, address >> HWI_REGION_BITS);
  if (!region && !(region = add_region(blocks, address >> HWI_REGION_BITS)))
    return false;
  unsigned i = page_of(address);
  if (!region->pages[i] && !(region->pages[i] = take_page(blocks)))
    return false;
  uint32_t *slot = slot_of(region->pages[i], address);
  *replaced = kind_at(blocks, *slot);
  region->counts[i] += !*slot;
  blocks->count += !*slot;
  *slot = kind;
  return true;
}

const struct hwi_block *hwi_blocks_take(struct hwi_blocks *blocks, uint64_t address)
{
  if (is_odd(address))
    return take_odd(blocks, address);
  struct hwi_block_region *region = find_region(blocks, address >> HWI_REGION_BITS);
  unsigned i = page_of(address);
  if (!region || !region->pages[i])
    return NULL;
  uint32_t *slot = slot_of(region->pages[i], address), kind = *slot;
  if (!kind)
    return NULL;
  *slot = 0;
  blocks->count--;
  if (--region->counts[i] == 0) {
    give_page_back(blocks, region->pages[i]);
    region->pages[i] = NULL;
  }
  return kind_at(blocks, kind);
}

bool hwi_blocks_has(struct hwi_blocks *blocks, uint64_t address)
{
  if (is_odd(address))
    return blocks->odd.slots && hwi_live_slot(&blocks->odd, address)->address;
  const struct hwi_block_region *region = find_region(blocks, address >> HWI_REGION_BITS);
  union hwi_block_page *page = region ? region->pages[page_of(address)] : NULL;
  return page && *slot_of(page, address);
}

void hwi_blocks_release(struct hwi_blocks *blocks)
{
  for (size_t i = 0; i < blocks->slab_count; i++)
    free(blocks->slabs[i]);
  free(blocks->slabs);
  free(blocks->regions);
  free(blocks->region_slots);
  hwi_live_release(&blocks->odd);
  free(blocks->kinds);
  free(blocks->kind_slots);
  *blocks = (struct hwi_blocks){0};
}
