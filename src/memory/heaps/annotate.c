/* annotate.c - reads the owners in front of blocks: docs/annotate.md */
#include "memory/heaps/annotate.h"

#include <stdio.h>
#include <stdlib.h>

#include "trace/grow.h"
#include "trace/table.h"

static const char magic[] = "heapwrig-owners\n";

enum {
  MAGIC_BYTES = 16,
  VERSION = 1,
  BYTE_ORDER_MARK = 0x01020304,
  HEADER_BYTES = 16,
  UNIT_BYTES = 8,
  ENTRY_BYTES = 16, /* of a stack, before its frames */
  FRAMES_MAX = 4096,
  MARK = 0x48,
  RED_BYTE = 0xfb,
  RED_ZONE_MOST = 1 << 20,
  INCIDENTS = 16,
  INCIDENT_BYTES = 24,
  STACK_BYTES = 2048, /* of a thread, in which to look for the library's functions */
  BEGIN_MAGIC = 0x50616548,
  END_MAGIC = 0x466f7250,
  INLINE_WORDS = 5, /* of an inline stack, except frames */
  INLINE_FRAMES_MAX = 256,
  ALIGN_LOG2_LEAST = 5, /* of blocks that were asked for with an alignment */
  ALIGN_LOG2_MOST = 30,
};

/* Offsets in the root. */
enum {
  AT_BYTE_ORDER = 16,
  AT_VERSION = 20,
  AT_WORD = 22,
  AT_SELF = 24,
  AT_KEY = 32,
  AT_CHUNKS = 40,
  AT_CHUNK_LOG2 = 48,
  AT_CHUNK_COUNT = 52,
  AT_RED_ZONE = 72,
  AT_FRONT = 76,
  AT_ALIGN = 80,
  AT_INCIDENT_COUNT = 88,
  AT_COVERS_ALL = 92,
  AT_INCIDENTS = 96,
  ROOT_BYTES = AT_INCIDENTS + INCIDENTS * INCIDENT_BYTES,
};

struct reading {
  const struct hwi_memory *memory;
  struct hwi_memory_reader reader, table;
  struct hwi_core_heap *heap;
  uint64_t key, chunks;
  uint32_t chunk_log2, chunk_count, red_zone_bytes, front_bytes, align;
  const unsigned char *root;
  size_t headerless;  /* live blocks without a header */
  size_t frames_most; /* there is no memory for more: a forged table may have the same ones again and again */
};

static uint64_t load_64(const struct hwi_memory *memory, const unsigned char *bytes)
{
  uint64_t number;
  memcpy(&number, bytes, sizeof number);
  return memory->swaps_bytes ? __builtin_bswap64(number) : number;
}

/* --- the root --- */

static bool is_root(struct reading *reading, uint64_t address)
{
  const struct hwi_memory *memory = reading->memory;
  const unsigned char *root = hwi_memory_bytes(&reading->reader, address, ROOT_BYTES);
  if (!root || hwi_memory_load_32(memory, root + AT_BYTE_ORDER) != BYTE_ORDER_MARK ||
      root[AT_WORD] != memory->word_bytes || load_64(memory, root + AT_SELF) != address)
    return false;
  *reading = (struct reading){
      .memory = memory,
      .reader = reading->reader,
      .table = reading->table,
      .heap = reading->heap,
      .key = load_64(memory, root + AT_KEY),
      .chunks = load_64(memory, root + AT_CHUNKS),
      .chunk_log2 = hwi_memory_load_32(memory, root + AT_CHUNK_LOG2),
      .chunk_count = hwi_memory_load_32(memory, root + AT_CHUNK_COUNT),
      .red_zone_bytes = hwi_memory_load_32(memory, root + AT_RED_ZONE),
      .front_bytes = hwi_memory_load_32(memory, root + AT_FRONT),
      .align = hwi_memory_load_32(memory, root + AT_ALIGN),
      .root = root,
      .frames_most = reading->frames_most,
  };
  return reading->align && !(reading->align & (reading->align - 1)) && reading->front_bytes >= HEADER_BYTES &&
         reading->front_bytes < UINT32_C(1) << 20 && reading->red_zone_bytes <= RED_ZONE_MOST &&
         reading->chunk_log2 >= 3 && reading->chunk_log2 < 64;
}

static bool find_root(struct reading *reading)
{
  const struct hwi_memory *memory = reading->memory;
  const bool knows_files = hwi_memory_knows_files(memory);
  for (size_t i = 0; i < memory->region_count; i++) {
    const struct hwi_region *region = &memory->regions[i];
    const unsigned char *at = region->bytes;
    while (at && hwi_memory_is_data(memory, i, knows_files) &&
           (at = memmem(at, (size_t)(region->bytes + region->known - at), magic, MAGIC_BYTES))) {
      if (is_root(reading, region->begin + (uint64_t)(at - region->bytes)))
        return true;
      at++;
    }
  }
  return false;
}

/* --- the table of stacks --- */

/* Adds the stack there. Returns its bytes, 0 if there is none, or a negative value if there is no memory. */
static int64_t read_stack(struct reading *reading, uint64_t address, uint32_t number)
{
  struct hwi_core_heap *heap = reading->heap;
  const unsigned word = reading->memory->word_bytes;
  const unsigned char *entry = hwi_memory_bytes(&reading->table, address, ENTRY_BYTES);
  const uint32_t count = entry ? hwi_memory_load_32(reading->memory, entry + 8) : 0;
  if (count == 0 || count > FRAMES_MAX || count > reading->frames_most - heap->frame_count)
    return 0;
  const unsigned char *frames = hwi_memory_bytes(&reading->table, address + ENTRY_BYTES, (uint64_t)count * word);
  if (!frames)
    return 0;
  if (!hwi_table_grow((void **)&heap->stacks, &heap->stack_capacity, heap->stack_count + 1, sizeof *heap->stacks) ||
      !hwi_table_grow((void **)&heap->frames, &heap->frame_capacity, heap->frame_count + count, sizeof *heap->frames))
    return -1;
  heap->stacks[heap->stack_count++] = (struct hwi_core_stack){heap->frame_count, count, number};
  for (uint32_t i = 0; i < count; i++)
    heap->frames[heap->frame_count++] = hwi_memory_load(reading->memory, frames + (size_t)i * word);
  return (ENTRY_BYTES + (int64_t)count * word + UNIT_BYTES - 1) / UNIT_BYTES * UNIT_BYTES;
}

/* Stacks follow each other without gaps, from the second unit of the table on. A part ends where no stack follows. */
static bool read_stacks(struct reading *reading)
{
  const unsigned word = reading->memory->word_bytes;
  for (uint32_t i = 0; i < reading->chunk_count; i++) {
    uint64_t chunk;
    if (!hwi_memory_word(&reading->reader, reading->chunks + (uint64_t)i * word, &chunk))
      return true;
    const uint64_t limit = UINT64_C(1) << reading->chunk_log2;
    for (uint64_t off = i ? 0 : UNIT_BYTES; off < limit;) {
      const uint64_t number = ((uint64_t)i << reading->chunk_log2 | off) / UNIT_BYTES;
      const int64_t bytes = read_stack(reading, chunk + off, (uint32_t)number);
      if (bytes < 0)
        return false;
      if (bytes == 0 || number > UINT32_MAX)
        break;
      off += (uint64_t)bytes;
    }
  }
  return true;
}

/* Returns the place of the stack in heap->stacks, from 1 on; 0: unknown. */
static uint32_t stack_of(const struct hwi_core_heap *heap, uint32_t number)
{
  size_t first = 0, end = heap->stack_count;
  while (first < end) {
    const size_t middle = (first + end) / 2;
    if (heap->stacks[middle].number < number)
      first = middle + 1;
    else
      end = middle;
  }
  return first < heap->stack_count && heap->stacks[first].number == number && number ? (uint32_t)first + 1 : 0;
}

/* --- headers --- */

static uint32_t check_of(uint64_t key, uint64_t address, uint32_t stack, uint64_t meta)
{
  const uint64_t mixed = key ^ address ^ (uint64_t)stack << 32 ^ (meta << 24 | meta >> 40);
  return (uint32_t)((mixed * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
}

struct header {
  struct hwi_core_owner owner;
  uint64_t bytes; /* that were asked for */
  unsigned align_log2;
  bool is_freed; /* the block is kept */
};

/* Reads the header in front of `address`. Returns false if there is none. */
static bool read_header(struct reading *reading, const unsigned char *from, uint64_t address, struct header *header)
{
  const struct hwi_memory *memory = reading->memory;
  const uint64_t meta = load_64(memory, from + 8);
  if (meta >> 56 != MARK)
    return false;
  const uint32_t check = hwi_memory_load_32(memory, from), stack = hwi_memory_load_32(memory, from + 4);
  const uint32_t expected = check_of(reading->key, address, stack, meta);
  *header = (struct header){.owner = {.stack = stack_of(reading->heap, stack), .is_known = true},
                            .bytes = meta & ((UINT64_C(1) << 48) - 1),
                            .align_log2 = (unsigned)(meta >> 48) & 63,
                            .is_freed = check == ~expected};
  return check == expected || check == ~expected;
}

static void check_red_zone(struct reading *reading, uint64_t address, const struct header *header)
{
  const unsigned char *zone =
      header->is_freed ? NULL : hwi_memory_bytes(&reading->reader, address + header->bytes, reading->red_zone_bytes);
  for (uint32_t i = 0; zone && i < reading->red_zone_bytes; i++)
    if (zone[i] != RED_BYTE) {
      hwi_core_heap_note_overrun(reading->heap, address + header->bytes + i,
                                 "written %u bytes beyond the end of the block of %llu bytes at %#llx", i,
                                 (unsigned long long)header->bytes, (unsigned long long)address);
      return;
    }
}

/* --- in the blocks of an allocator that is known --- */

struct found_header {
  uint64_t front; /* from the allocator's block to the program's; 0: none was found */
  struct header header;
};

/* Returns whether the block has a header for the address `front` bytes from its begin. */
static bool has_header_at(struct reading *reading, const struct hwi_core_block *block, uint64_t front, unsigned log2,
                          struct header *header)
{
  const uint64_t address = block->address + front;
  if (front > hwi_core_block_bytes(block))
    return false;
  const unsigned char *from = hwi_memory_bytes(&reading->reader, address - HEADER_BYTES, HEADER_BYTES);
  return from && read_header(reading, from, address, header) && header->align_log2 == log2 &&
         header->bytes <= hwi_core_block_bytes(block) - front;
}

/* Takes a header at a place; one of a freed block only if there was none yet. Returns whether the search is over. */
static bool try_header(struct reading *reading, const struct hwi_core_block *block, uint64_t front, unsigned log2,
                       struct found_header *found)
{
  struct header header;
  if (!has_header_at(reading, block, front, log2, &header) || (header.is_freed && found->front))
    return false;
  *found = (struct found_header){front, header};
  return !header.is_freed;
}

/* Returns how far in front of the program's block the allocator's begins; 0: there is no header. An allocator may find room for an
 * aligned block within a larger one (mimalloc.c). In front of an aligned block, there may be the header of one that was there
 * before, and is freed. */
static uint64_t find_header(struct reading *reading, const struct hwi_core_block *block, struct header *header)
{
  const uint64_t front = (reading->front_bytes + (uint64_t)reading->align - 1) & ~((uint64_t)reading->align - 1);
  struct found_header found = {0};
  bool is_over = try_header(reading, block, front, 0, &found);
  for (unsigned log2 = ALIGN_LOG2_LEAST; log2 <= ALIGN_LOG2_MOST && !is_over; log2++) {
    const uint64_t align = UINT64_C(1) << log2, to_aligned = -block->address & (align - 1);
    const uint64_t aligned_front = to_aligned + ((front + align - 1) & ~(align - 1));
    if (aligned_front > hwi_core_block_bytes(block))
      break;
    is_over = try_header(reading, block, aligned_front, log2, &found);
  }
  *header = found.header;
  return found.front;
}

static bool is_code_of(struct reading *reading, const char *file, uint64_t address)
{
  const struct hwi_region *region = hwi_memory_region(reading->memory, address);
  return region && region->is_executable && region->file && strcmp(region->file, file) == 0;
}

/* Returns whether the thread is in a function of the file, or was called from one. */
static bool is_in(struct reading *reading, const char *file, const struct hwi_memory_thread *thread)
{
  const unsigned word = reading->memory->word_bytes;
  uint64_t address;
  if (is_code_of(reading, file, thread->program_counter))
    return true;
  for (uint64_t at = thread->stack_pointer; at < thread->stack_pointer + STACK_BYTES; at += word)
    if (hwi_memory_word(&reading->reader, at, &address) && is_code_of(reading, file, address))
      return true;
  return false;
}

/* A thread may have got a block from the allocator, and not have written the header yet. Returns how many threads may. */
static size_t threads_inside(struct reading *reading, uint64_t root)
{
  const struct hwi_memory *memory = reading->memory;
  const struct hwi_region *region = hwi_memory_region(memory, root);
  const char *file = region->file ? region->file : region > memory->regions ? region[-1].file : NULL;
  size_t count = 0;
  for (size_t i = 0; file && i < memory->thread_count; i++)
    count += is_in(reading, file, &memory->threads[i]);
  return count;
}

/* The owner of the memory before it is the first one to ask. */
static void note_overwritten(struct reading *reading, const struct hwi_core_block *block,
                             const struct hwi_core_block *previous)
{
  if (!previous)
    hwi_core_heap_note_damage(reading->heap, block->address, "the header of this block was overwritten");
  else
    hwi_core_heap_note_overrun(
        reading->heap, block->address,
        "the header of this block was overwritten; before it is the block of %llu bytes at %#llx",
        (unsigned long long)hwi_core_block_bytes(previous), (unsigned long long)previous->address);
}

/* Freed blocks that are kept are not live. The blocks of a part still follow each other. */
static void take_out_kept(struct reading *reading)
{
  struct hwi_core_heap *heap = reading->heap;
  struct hwi_core_block *block = heap->blocks;
  for (struct hwi_core_heap_part *part = heap->parts; part < heap->parts + heap->part_count; part++) {
    uint64_t left = 0;
    for (int state = 0; state < HWI_CORE_BLOCK_STATES; state++)
      left += part->sums[state].blocks;
    for (; left > 0; left--, block++) {
      const uint64_t bytes = hwi_core_block_bytes(block);
      struct header header;
      if (hwi_core_block_state(block) != HWI_CORE_BLOCK_LIVE || !find_header(reading, block, &header) ||
          !header.is_freed)
        continue;
      block->packed = bytes << HWI_CORE_BLOCK_STATE_BITS | HWI_CORE_BLOCK_CACHED;
      part->sums[HWI_CORE_BLOCK_LIVE].blocks--;
      part->sums[HWI_CORE_BLOCK_LIVE].bytes -= bytes;
      part->sums[HWI_CORE_BLOCK_CACHED].blocks++;
      part->sums[HWI_CORE_BLOCK_CACHED].bytes += bytes;
    }
  }
}

static bool find_owners(struct reading *reading)
{
  struct hwi_core_heap *heap = reading->heap;
  heap->owners = calloc(heap->block_count ? heap->block_count : 1, sizeof *heap->owners);
  if (!heap->owners)
    return false;
  for (size_t i = 0; i < heap->block_count; i++) {
    struct hwi_core_block *block = &heap->blocks[i];
    struct header header;
    const enum hwi_core_block_state state = hwi_core_block_state(block);
    if (state != HWI_CORE_BLOCK_LIVE && state != HWI_CORE_BLOCK_CACHED)
      continue;
    const uint64_t front = find_header(reading, block, &header);
    if (front == 0 || header.is_freed != (state == HWI_CORE_BLOCK_CACHED)) {
      reading->headerless += state == HWI_CORE_BLOCK_LIVE;
      continue;
    }
    *block = (struct hwi_core_block){block->address + front, header.bytes << HWI_CORE_BLOCK_STATE_BITS | state};
    heap->owners[i] = header.owner;
    check_red_zone(reading, block->address, &header);
  }
  return true;
}

/* Blocks without headers are damaged, if all blocks have one, but for those that threads are about to get. Those of a pool of the
 * program's own have none. */
static void note_headerless(struct reading *reading)
{
  const struct hwi_core_heap *heap = reading->heap;
  for (size_t i = 0; i < heap->part_count; i++)
    if (heap->parts[i].is_piece)
      return;
  const struct hwi_core_block *previous = NULL;
  if (hwi_memory_load_32(reading->memory, reading->root + AT_COVERS_ALL) != 1 ||
      reading->headerless <= threads_inside(reading, load_64(reading->memory, reading->root + AT_SELF)))
    return;
  for (size_t i = 0; i < heap->block_count; i++) {
    if (heap->owners[i].is_known)
      previous = &heap->blocks[i];
    else if (hwi_core_block_state(&heap->blocks[i]) == HWI_CORE_BLOCK_LIVE)
      note_overwritten(reading, &heap->blocks[i], previous);
  }
}

/* --- where the allocator is not known --- */

static bool add_found(struct reading *reading, struct hwi_core_heap_part *part, uint64_t address,
                      const struct header *header)
{
  struct hwi_core_heap *heap = reading->heap;
  const enum hwi_core_block_state state = header->is_freed ? HWI_CORE_BLOCK_CACHED : HWI_CORE_BLOCK_LIVE;
  size_t capacity = heap->block_capacity;
  if (!hwi_core_heap_add_block(heap, part, address, header->bytes, state))
    return false;
  if (heap->block_capacity != capacity) {
    struct hwi_core_owner *owners = realloc(heap->owners, heap->block_capacity * sizeof *owners);
    if (!owners)
      return false;
    heap->owners = owners;
  }
  heap->owners[heap->block_count - 1] = header->owner;
  return true;
}

static bool search_region(struct reading *reading, const struct hwi_region *region, struct hwi_core_heap_part *part)
{
  uint64_t address = (region->begin + HEADER_BYTES + reading->align - 1) & ~((uint64_t)reading->align - 1);
  for (; address <= region->begin + region->known; address += reading->align) {
    struct header header;
    if (!read_header(reading, region->bytes + (address - HEADER_BYTES - region->begin), address, &header) ||
        header.bytes > region->end - address)
      continue;
    if (!add_found(reading, part, address, &header))
      return false;
    check_red_zone(reading, address, &header);
    address += header.bytes & ~((uint64_t)reading->align - 1); /* what looks like a header in it is none */
  }
  return true;
}

static bool find_blocks(struct reading *reading)
{
  struct hwi_core_heap_part *part = hwi_core_heap_add_part(reading->heap, HWI_CORE_ANNOTATED, "annotated blocks", 0);
  bool done = part;
  for (size_t i = 0; done && i < reading->memory->region_count; i++)
    if (reading->memory->regions[i].is_writable && reading->memory->regions[i].bytes)
      done = search_region(reading, &reading->memory->regions[i], part);
  if (done)
    part->system_bytes = part->understood_bytes =
        part->sums[HWI_CORE_BLOCK_LIVE].bytes + part->sums[HWI_CORE_BLOCK_CACHED].bytes;
  return done;
}

/* --- where the root is lost: between the magics of inline stacks --- */

/* Returns the words of the inline stack that begins there, and reads the header behind it; 0: none begins there. */
static uint32_t inline_words(struct reading *reading, const unsigned char *at, uint64_t room, struct header *header)
{
  const struct hwi_memory *memory = reading->memory;
  const unsigned word = memory->word_bytes;
  for (uint32_t count = INLINE_WORDS; count <= INLINE_WORDS + INLINE_FRAMES_MAX; count++) {
    if ((uint64_t)count * word + HEADER_BYTES > room)
      return 0;
    if (hwi_memory_load(memory, at + (size_t)(count - 1) * word) != END_MAGIC)
      continue;
    const uint64_t meta = load_64(memory, at + (size_t)count * word + 8), bytes = meta & ((UINT64_C(1) << 48) - 1);
    *header = (struct header){.owner = {.is_known = true}, .bytes = bytes};
    return meta >> 56 == MARK && hwi_memory_load(memory, at + word) == bytes ? count : 0;
  }
  return 0;
}

static bool add_inline_stack(struct reading *reading, const unsigned char *frames, uint32_t count,
                             struct hwi_core_owner *owner)
{
  struct hwi_core_heap *heap = reading->heap;
  const unsigned word = reading->memory->word_bytes;
  if (!hwi_table_grow((void **)&heap->stacks, &heap->stack_capacity, heap->stack_count + 1, sizeof *heap->stacks) ||
      !hwi_table_grow((void **)&heap->frames, &heap->frame_capacity, heap->frame_count + count, sizeof *heap->frames))
    return false;
  struct hwi_core_stack *stack = &heap->stacks[heap->stack_count];
  *stack = (struct hwi_core_stack){.first = heap->frame_count};
  for (; stack->count < count; stack->count++) {
    const uint64_t frame = hwi_memory_load(reading->memory, frames + (size_t)stack->count * word);
    if (!frame)
      break;
    heap->frames[heap->frame_count++] = frame;
  }
  if (stack->count)
    owner->stack = (uint32_t)++heap->stack_count;
  return true;
}

static bool search_magics(struct reading *reading, const struct hwi_region *region)
{
  struct hwi_core_heap *heap = reading->heap;
  const unsigned word = reading->memory->word_bytes;
  for (uint64_t off = -region->begin % word; off + word <= region->known; off += word) {
    const unsigned char *at = region->bytes + off;
    struct header header;
    uint32_t count;
    if (hwi_memory_load(reading->memory, at) != BEGIN_MAGIC ||
        !(count = inline_words(reading, at, region->known - off, &header)) ||
        header.bytes > region->end - region->begin - off - (uint64_t)count * word - HEADER_BYTES)
      continue;
    if (!heap->part_count && !hwi_core_heap_add_part(heap, HWI_CORE_ANNOTATED, "annotated blocks", 0))
      return false;
    if (!add_inline_stack(reading, at + 4 * word, count - INLINE_WORDS, &header.owner) ||
        !add_found(reading, &heap->parts[0], region->begin + off + (uint64_t)count * word + HEADER_BYTES, &header))
      return false;
    off += (uint64_t)(count - 1) * word;
  }
  return true;
}

static bool find_by_magics(struct reading *reading)
{
  struct hwi_core_heap *heap = reading->heap;
  for (size_t i = 0; i < reading->memory->region_count; i++) {
    const struct hwi_region *region = &reading->memory->regions[i];
    if (region->is_writable && region->bytes && !search_magics(reading, region))
      return false;
  }
  if (heap->part_count)
    heap->parts[0].system_bytes = heap->parts[0].understood_bytes = heap->parts[0].sums[HWI_CORE_BLOCK_LIVE].bytes;
  return true;
}

/* --- incidents --- */

static void note_incidents(struct reading *reading)
{
  static const char *const texts[] = {"", "a block was freed here whose header was overwritten, or that is none",
                                      "this block was freed again", "written beyond the end of a block",
                                      "written to a block after it was freed"};
  const uint32_t count = hwi_memory_load_32(reading->memory, reading->root + AT_INCIDENT_COUNT);
  for (uint32_t i = 0; i < count && i < INCIDENTS; i++) {
    const unsigned char *incident = reading->root + AT_INCIDENTS + (size_t)i * INCIDENT_BYTES;
    const uint32_t fault = hwi_memory_load_32(reading->memory, incident + 16);
    if (fault >= 1 && fault < sizeof texts / sizeof *texts)
      hwi_core_heap_note_damage(reading->heap, load_64(reading->memory, incident + (fault <= 2 ? 0 : 8)), "%s",
                                texts[fault]);
  }
}

int hwi_annotate_find(struct hwi_core_heap *heap, const struct hwi_memory *memory, struct hwi_error *error)
{
  struct reading reading = {.memory = memory, .reader = {.memory = memory}, .table = {.memory = memory}, .heap = heap};
  for (size_t i = 0; i < memory->region_count; i++)
    reading.frames_most += memory->regions[i].known / memory->word_bytes;
  const bool has_root = find_root(&reading);
  if (has_root)
    take_out_kept(&reading);
  hwi_core_heap_sort(heap);
  if (!has_root && (heap->part_count || find_by_magics(&reading)))
    return 0;
  if (!has_root || !read_stacks(&reading) || !(heap->part_count ? find_owners(&reading) : find_blocks(&reading)))
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory for the owners of blocks; use a larger machine");
  if (reading.headerless)
    note_headerless(&reading);
  note_incidents(&reading);
  return 0;
}
