/* musl.c - reads the heap of musl's malloc from its context, which leads to all of its metas
 *
 * The context is in the data of a module. It begins with the secret and leads to the first and to the last meta area, which begin
 * with it, too: nothing else looks like that. Every group must lead back to its meta, and the header of every block to its group.
 * A block's size is the one that was asked for: the header says how much of the slot is left over, and the byte behind the block
 * must be zero.
 */
#include "memory/heaps/musl.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
  UNIT = 16,
  AREA_BYTES = 4096,
  TAIL_BYTES = 4, /* of a slot, that are for the header behind it */
  HEADER_BYTES = 8,
  SLOTS_MOST = 32,
  CLASSES = 48,
  CLASS_OF_MAPPED = 63,
  NESTING_MOST = 16, /* each group is at most half as large as the slot around it */

  /* of a meta, in words */
  AT_GROUP = 2,
  AT_MASKS = 3, /* two of 4 bytes, then a word of bits */

  /* of that word */
  INDEX_BITS = 5,
  CLASS_SHIFT = 6,
  CLASS_BITS = 6,
  PAGES_SHIFT = 12,

  /* of the byte in front of a block that has the number of the slot: how many bytes of the slot are left over */
  LEFT_SHIFT = 5,
  LEFT_IN_TAIL = 5,  /* the number is behind the block */
  IS_GROUP = 6,      /* the block is a group */
  IS_MOVED = 7,      /* at the start of a slot: the block begins later */
  BEING_FREED = 255, /* the whole byte */
};

/* Bytes of a slot, in units. */
static const uint16_t class_units[CLASSES] = {1,    2,    3,    4,    5,    6,    7,    8,    9,    10,   12,   15,
                                              18,   20,   25,   31,   36,   42,   50,   63,   72,   84,   102,  127,
                                              146,  170,  204,  255,  292,  340,  409,  511,  584,  682,  818,  1023,
                                              1169, 1364, 1637, 2047, 2340, 2730, 3276, 4095, 4680, 5460, 6552, 8191};

enum kind { MAPPED_ALONE, IN_GROUPS, IN_MODULES, KINDS };

struct musl {
  struct hwi_core_heap *heap;
  const struct hwi_memory *memory;
  struct hwi_memory_reader reader;
  unsigned word;
  uint64_t secret, first_area, last_area;
  uint64_t slots_left; /* memory has room for so many: a forged heap has no end */
  bool failed;         /* no memory */
};

struct group {
  uint64_t meta, address, stride, bytes; /* bytes: all of it */
  uint64_t free;                         /* slots, as bits */
  unsigned slots;
  bool is_nested, is_mapped_alone, is_in_module;
};

struct slot {
  struct hwi_core_heap_part *part;
  const struct group *group;
  unsigned index;
  uint64_t start, end; /* less the tail */
};

static bool read_word(struct musl *musl, uint64_t address, uint64_t *word)
{
  return hwi_memory_word(&musl->reader, address, word);
}

static bool read_32(struct musl *musl, uint64_t address, uint32_t *number)
{
  const unsigned char *bytes = hwi_memory_bytes(&musl->reader, address, sizeof *number);
  if (bytes)
    *number = hwi_memory_load_32(musl->memory, bytes);
  return bytes;
}

/* --- the context --- */

static uint64_t load_secret(const struct hwi_memory *memory, const unsigned char *bytes)
{
  uint64_t secret;
  memcpy(&secret, bytes, sizeof secret);
  return memory->swaps_bytes ? __builtin_bswap64(secret) : secret;
}

static bool is_area(struct musl *musl, uint64_t address)
{
  const unsigned char *bytes = address % AREA_BYTES ? NULL : hwi_memory_bytes(&musl->reader, address, AREA_BYTES);
  return address && bytes && load_secret(musl->memory, bytes) == musl->secret;
}

/* Returns whether the context begins with these bytes. Where the size of pages is not known when musl is compiled, it is behind
 * the secret. */
static bool is_context(struct musl *musl, const unsigned char *bytes, bool has_page_size)
{
  enum { SECRET = 8, COUNTS = 8, POINTERS_BEFORE = 5 /* two of metas, three numbers */ };
  const unsigned char *counts = bytes + SECRET + (has_page_size ? musl->word : 0);
  const unsigned char *areas = counts + COUNTS + (size_t)POINTERS_BEFORE * musl->word;
  const uint64_t first = hwi_memory_load(musl->memory, areas);
  if (first == 0 || first % AREA_BYTES || hwi_memory_load_32(musl->memory, counts) != 1)
    return false;
  musl->secret = load_secret(musl->memory, bytes);
  musl->first_area = first;
  musl->last_area = hwi_memory_load(musl->memory, areas + musl->word);
  return is_area(musl, musl->first_area) && is_area(musl, musl->last_area);
}

static bool search_region(struct musl *musl, const struct hwi_region *region)
{
  const uint64_t least = 8 + 8 + (uint64_t)(1 + 5 + 2) * musl->word;
  for (uint64_t off = 0; off + least <= region->known; off += musl->word)
    if (is_context(musl, region->bytes + off, false) || is_context(musl, region->bytes + off, true))
      return true;
  return false;
}

static bool find_context(struct musl *musl)
{
  const struct hwi_memory *memory = musl->memory;
  const bool knows_files = hwi_memory_knows_files(memory);
  for (size_t i = 0; i < memory->region_count; i++)
    if (hwi_memory_is_data(memory, i, knows_files) && search_region(musl, &memory->regions[i]))
      return true;
  return false;
}

/* --- groups --- */

/* Reads the meta at an address. Returns false if it describes no group. */
static bool read_meta(struct musl *musl, uint64_t meta, struct group *group)
{
  uint32_t available, freed;
  uint64_t bits;
  const uint64_t masks = meta + AT_MASKS * musl->word;
  *group = (struct group){.meta = meta};
  if (!read_word(musl, meta + AT_GROUP * musl->word, &group->address) || group->address == 0 ||
      !read_32(musl, masks, &available) || !read_32(musl, masks + 4, &freed) || !read_word(musl, masks + 8, &bits))
    return false;
  const uint64_t pages = bits >> PAGES_SHIFT;
  const unsigned class = bits >> CLASS_SHIFT & ((1 << CLASS_BITS) - 1);
  const bool is_freeable = bits >> INDEX_BITS & 1;
  group->slots = (bits & ((1 << INDEX_BITS) - 1)) + 1;
  group->free = available | freed;
  group->is_mapped_alone = class == CLASS_OF_MAPPED;
  group->is_nested = !pages && is_freeable;
  group->is_in_module = !pages && !is_freeable;
  group->stride = pages && group->slots == 1 ? pages * AREA_BYTES - UNIT
                  : class < CLASSES          ? (uint64_t)class_units[class] * UNIT
                                             : 0;
  group->bytes = pages ? pages * AREA_BYTES : UNIT + group->slots * group->stride;
  return true;
}

/* Returns whether the group leads back to its meta, and its slots fit into it. */
static bool is_sound(struct musl *musl, const struct group *group)
{
  uint64_t meta;
  return group->stride && group->address % UNIT == 0 && UNIT + group->slots * group->stride <= group->bytes &&
         group->address + group->bytes > group->address && read_word(musl, group->address, &meta) &&
         meta == group->meta;
}

/* Returns the units from the first slot of a block's group to the block. */
static bool read_offset(struct musl *musl, uint64_t block, uint64_t *units)
{
  const unsigned char *header = hwi_memory_bytes(&musl->reader, block - HEADER_BYTES, HEADER_BYTES);
  if (!header)
    return false;
  uint16_t near;
  memcpy(&near, header + 6, sizeof near);
  const uint32_t far = hwi_memory_load_32(musl->memory, header);
  *units = header[4] ? far : musl->memory->swaps_bytes ? __builtin_bswap16(near) : near;
  return !header[4] || (!near && far > UINT16_MAX);
}

/* Returns of which kind the memory is in which the group lies, or KINDS if it is not known. */
static enum kind kind_of(struct musl *musl, struct group group)
{
  for (int depth = 0; group.is_nested; depth++) {
    uint64_t units, meta;
    if (depth == NESTING_MOST || !read_offset(musl, group.address, &units) ||
        !read_word(musl, group.address - units * UNIT - UNIT, &meta) ||
        !is_area(musl, meta & ~(uint64_t)(AREA_BYTES - 1)) || !read_meta(musl, meta, &group) || !is_sound(musl, &group))
      return KINDS;
  }
  return group.is_mapped_alone ? MAPPED_ALONE : group.is_in_module ? IN_MODULES : IN_GROUPS;
}

/* --- slots --- */

/* Returns where the block of a slot begins, or 0 if no header leads there. A block with a very large alignment has a distance
 * from the slot's start whose highest bits are lost. */
static uint64_t block_in(struct musl *musl, const struct slot *slot)
{
  enum { LOST = 1 << 16 };
  const unsigned char *header = hwi_memory_bytes(&musl->reader, slot->start - HEADER_BYTES, HEADER_BYTES);
  const uint64_t first = slot->group->address + UNIT;
  uint16_t moved;
  uint64_t units;
  if (!header || header[5] == BEING_FREED || header[5] >> LEFT_SHIFT != IS_MOVED)
    return header ? slot->start : 0;
  memcpy(&moved, header + 6, sizeof moved);
  uint64_t at = slot->start + (uint64_t)(musl->memory->swaps_bytes ? __builtin_bswap16(moved) : moved) * UNIT;
  for (; at < slot->end; at += (uint64_t)LOST * UNIT) {
    header = hwi_memory_bytes(&musl->reader, at - HEADER_BYTES, HEADER_BYTES);
    if (header && (header[5] == BEING_FREED || (read_offset(musl, at, &units) && units == (at - first) / UNIT)))
      return at;
  }
  return 0;
}

/* Returns how many bytes of a slot are left over behind its block, or UINT64_MAX if that cannot be. The byte behind the block and
 * the one behind the slot are zero. */
static uint64_t left_over(struct musl *musl, const struct slot *slot, uint64_t block, unsigned code)
{
  enum { MARK = 5 }; /* in front of the end */
  const unsigned char *end = hwi_memory_bytes(&musl->reader, slot->end - MARK, MARK + 1);
  uint64_t left = code;
  if (!end || end[MARK])
    return UINT64_MAX;
  if (code == LEFT_IN_TAIL) {
    left = hwi_memory_load_32(musl->memory, end + 1);
    if (left < LEFT_IN_TAIL || end[0])
      return UINT64_MAX;
  }
  const unsigned char *behind = left <= slot->end - block ? hwi_memory_bytes(&musl->reader, slot->end - left, 1) : NULL;
  return behind && !*behind ? left : UINT64_MAX;
}

static bool add_block(struct musl *musl, const struct slot *slot, uint64_t address, uint64_t bytes,
                      enum hwi_core_block_state state)
{
  musl->failed = !hwi_core_heap_add_block(musl->heap, slot->part, address, bytes, state);
  return !musl->failed;
}

/* Returns whether the block is a group: it leads to a meta that leads to it. */
static bool holds_group(struct musl *musl, uint64_t block)
{
  uint64_t meta, address;
  return read_word(musl, block, &meta) && is_area(musl, meta & ~(uint64_t)(AREA_BYTES - 1)) &&
         read_word(musl, meta + AT_GROUP * musl->word, &address) && address == block;
}

/* Adds the block of a slot in use. Returns false if it is damaged. */
static bool take_used(struct musl *musl, const struct slot *slot)
{
  const uint64_t block = block_in(musl, slot);
  const unsigned char *header = block ? hwi_memory_bytes(&musl->reader, block - HEADER_BYTES, HEADER_BYTES) : NULL;
  uint64_t units;
  if (!header) {
    hwi_core_heap_note_damage(musl->heap, slot->start,
                              "no header leads to the block of this slot, which has %" PRIu64 " bytes",
                              slot->group->stride);
    return false;
  }
  const unsigned number = header[5] & (SLOTS_MOST - 1), code = header[5] >> LEFT_SHIFT;
  if (header[5] == BEING_FREED)
    return add_block(musl, slot, slot->start, slot->end - slot->start, HWI_CORE_BLOCK_FREE);
  if (number != slot->index || !read_offset(musl, block, &units) ||
      units != (block - slot->group->address) / UNIT - 1 || code > IS_GROUP ||
      (code == IS_GROUP && !holds_group(musl, block))) {
    hwi_core_heap_note_damage(musl->heap, block, "the header of this block was overwritten");
    return false;
  }
  if (code == IS_GROUP)
    return true;
  const uint64_t left = left_over(musl, slot, block, code);
  if (left == UINT64_MAX) {
    hwi_core_heap_note_damage(musl->heap, block, "something wrote beyond the end of this block");
    return add_block(musl, slot, block, slot->end - block, HWI_CORE_BLOCK_LIVE);
  }
  return add_block(musl, slot, block, slot->end - block - left, HWI_CORE_BLOCK_LIVE);
}

/* Adds the blocks of a group. Returns the bytes of it that are not understood. */
static uint64_t take_slots(struct musl *musl, const struct group *group, struct hwi_core_heap_part *part)
{
  uint64_t unknown = 0;
  for (unsigned i = 0; i < group->slots && !musl->failed; i++) {
    struct slot slot = {part, group, i, group->address + UNIT + i * group->stride, 0};
    slot.end = slot.start + group->stride - TAIL_BYTES;
    if (!musl->slots_left)
      return unknown + (group->slots - i) * group->stride;
    musl->slots_left--;
    if (group->free >> i & 1)
      add_block(musl, &slot, slot.start, slot.end - slot.start, HWI_CORE_BLOCK_FREE);
    else if (!take_used(musl, &slot))
      unknown += group->stride;
  }
  return unknown;
}

static void take_group(struct musl *musl, const struct group *group, struct hwi_core_heap_part *part)
{
  if (group->is_nested) {
    part->understood_bytes -= take_slots(musl, group, part);
    return;
  }
  musl->failed = !hwi_core_heap_add_own(musl->heap, group->address, group->address + group->bytes);
  part->system_bytes += group->bytes;
  part->understood_bytes += group->bytes - take_slots(musl, group, part);
}

/* --- all --- */

/* Calls `take` for each meta that describes a group. Areas follow each other by their links. */
static void each_group(struct musl *musl, void (*take)(struct musl *, const struct group *, void *), void *context)
{
  const unsigned word = musl->word, header = word == 8 ? 24 : 16, meta_bytes = word == 8 ? 40 : 24;
  uint64_t areas_left = musl->slots_left / (AREA_BYTES / UNIT) + 1;
  for (uint64_t area = musl->first_area, next; is_area(musl, area) && areas_left-- && !musl->failed; area = next) {
    struct group group;
    if (!read_word(musl, area + 8, &next))
      return;
    for (uint64_t at = area + header; at + meta_bytes <= area + AREA_BYTES && !musl->failed; at += meta_bytes)
      if (read_meta(musl, at, &group))
        take(musl, &group, context);
    if (area == musl->last_area)
      return;
  }
  if (!musl->failed)
    hwi_core_heap_note_damage(musl->heap, musl->first_area, "the list of meta areas that begins here is not whole");
}

struct wanted {
  enum kind kind;
  size_t part;
};

static void take_wanted(struct musl *musl, const struct group *group, void *context)
{
  const struct wanted *wanted = context;
  if (!is_sound(musl, group)) {
    if (wanted->kind == IN_GROUPS)
      hwi_core_heap_note_damage(musl->heap, group->address, "here should be a group of the meta at %#" PRIx64,
                                group->meta);
    return;
  }
  if (kind_of(musl, *group) == wanted->kind)
    take_group(musl, group, &musl->heap->parts[wanted->part]);
}

static bool take_kind(struct musl *musl, enum kind kind)
{
  static const char *const names[KINDS] = {"musl's mapped blocks", "musl's groups", "musl's groups in modules"};
  struct wanted wanted = {kind, musl->heap->part_count};
  if (!hwi_core_heap_add_part(musl->heap, HWI_CORE_MUSL, names[kind], 0))
    return false;
  each_group(musl, take_wanted, &wanted);
  return !musl->failed;
}

static void count_area(struct musl *musl, const struct group *group, void *context)
{
  struct hwi_core_heap_part *part = context;
  const uint64_t area = group->meta & ~(uint64_t)(AREA_BYTES - 1);
  if (part->address == area)
    return;
  part->address = area; /* of the one before, for the next call */
  part->system_bytes += AREA_BYTES;
  part->understood_bytes += AREA_BYTES;
  musl->failed = !hwi_core_heap_add_own(musl->heap, area, area + AREA_BYTES);
}

static bool take_areas(struct musl *musl)
{
  struct hwi_core_heap_part *part = hwi_core_heap_add_part(musl->heap, HWI_CORE_MUSL, "musl's meta areas", 0);
  if (!part)
    return false;
  each_group(musl, count_area, part);
  part->address = 0;
  return !musl->failed;
}

/* A process with musl whose malloc is another one than mallocng. */
static bool has_musl(const struct hwi_memory *memory)
{
  for (size_t i = 0; i < memory->region_count; i++) {
    const char *file = memory->regions[i].file;
    if (file && (strstr(file, "/ld-musl-") || strstr(file, "-linux-musl/libc.so")))
      return true;
  }
  return false;
}

int hwi_musl_find(struct hwi_core_heap *heap, const struct hwi_memory *memory, struct hwi_error *error)
{
  struct musl musl = {
      .heap = heap, .memory = memory, .reader = {.memory = memory}, .word = memory->word_bytes, .slots_left = 1};
  if (!find_context(&musl))
    return has_musl(memory) ? hwi_error_set(error, HW_ERR_USAGE,
                                            "of musl's mallocs, only that of 1.2.1 and later is read (mallocng)")
                            : HW_ERR_USAGE;
  for (size_t i = 0; i < memory->region_count; i++)
    musl.slots_left += memory->regions[i].known / UNIT;
  bool done = take_areas(&musl);
  for (int kind = 0; kind < KINDS && done; kind++)
    done = take_kind(&musl, (enum kind)kind);
  return done ? 0 : hwi_error_set(error, HW_ERR_MEMORY, "no memory for the list of blocks; use a larger machine");
}
