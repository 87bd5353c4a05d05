/* mimalloc.c - reads the heap of mimalloc from the headers of its segments
 *
 * A segment's header has a cookie: its address, xored with a number of the process, which is the same for all. Its entries must
 * lead from its start to its end, and as many of them as it counts must be pages. One such segment is enough to know the number,
 * and then also those that are damaged.
 *
 * A block is free if it is in one of the three lists of its page, or if another thread freed it and has put it into the list of the
 * page's heap. All others up to the page's capacity are live, and their number must be the one that the page counts. Memory of a
 * segment that is not committed belongs to nobody. A thread that is inside of mimalloc may be changing a page of its segments, whose
 * lists and numbers then do not agree: that is no damage.
 */
#include "memory/heaps/mimalloc.h"

#include <inttypes.h>
#include <stdlib.h>

#include "memory/heaps/inside.h"
#include "trace/grow.h"

#define SEGMENT_BYTES ((uint64_t)32 << 20)
#define SLICE_BYTES ((uint64_t)64 << 10)
#define LARGEST_BLOCK ((uint64_t)512 << 20) /* a page with a larger one says this; its size is then that of the page */

enum {
  SLICES = 512,
  BLOCKS_MOST = 1 << 16, /* of a page */
  HEAP_LIST_OFF = 2840,  /* of the list of blocks that other threads freed; behind it is the thread */
  LIST_FLAGS = 3,

  /* of a segment's header */
  AT_COMMITTED = 112, /* a bit for each slice */
  AT_USED = 208,      /* pages */
  AT_COOKIE = 216,
  AT_SLICES = 224,
  AT_OWN_SLICES = 232,
  AT_KIND = 240, /* 4 bytes: 0, or 1 if it holds one large block alone */
  AT_ENTRY_COUNT = 248,
  AT_THREAD = 256,
  AT_ENTRIES = 264,
  HEADER_BYTES = AT_ENTRIES,

  /* of an entry */
  ENTRY_BYTES = 80,
  AT_SLICE_COUNT = 0,
  AT_CAPACITY = 10, /* 2 bytes, as the next one */
  AT_RESERVED = 12,
  AT_FREE = 16,
  AT_USED_BLOCKS = 24,
  AT_BLOCK_BYTES = 28,
  AT_LOCAL_FREE = 32,
  AT_THREAD_FREE = 40,
  AT_HEAP = 48,

  SMALL_BLOCK = 1024, /* pages with blocks up to this size do not begin with their slice */
  LEAST_BLOCK = 8,
  GIVEN_BACK = 1, /* instead of the size of blocks: the page is being given back to its segment, and has none */
};

static const uint64_t page_offs[] = {384, 128}; /* how much later they begin, by version */

static const char library[] = "/libmimalloc";

struct mimalloc {
  struct hwi_core_heap *heap;
  const struct hwi_memory *memory;
  struct hwi_memory_reader reader;
  uint64_t number;      /* of the process, for cookies; 0: not known */
  uint64_t page_off;    /* of small blocks */
  uint64_t blocks_left; /* memory has room for so many: a forged heap has no end */
  uint64_t *heaps;      /* of pages, sorted */
  size_t heap_count, heap_capacity;
  uint64_t *freed; /* blocks that are in lists of heaps, sorted */
  size_t freed_count, freed_capacity;
  uint8_t is_free[BLOCKS_MOST / 8]; /* of the page that is read: bits */
  struct hwi_inside inside;
  bool is_changing; /* the segment that is read: its thread is inside of mimalloc */
  bool failed;      /* no memory */
};

struct segment {
  uint64_t address, slices, own_slices, entries, used, cookie;
  const unsigned char *header;
  bool is_huge;
};

struct page {
  const unsigned char *entry;
  uint64_t begin, end; /* of its slices */
  uint64_t first, block_bytes;
  uint32_t capacity, reserved, used;
};

static uint64_t load_64(const unsigned char *bytes)
{
  uint64_t number;
  memcpy(&number, bytes, sizeof number);
  return number;
}

static uint32_t load_32(const unsigned char *bytes)
{
  uint32_t number;
  memcpy(&number, bytes, sizeof number);
  return number;
}

static uint16_t load_16(const unsigned char *bytes)
{
  uint16_t number;
  memcpy(&number, bytes, sizeof number);
  return number;
}

/* --- segments --- */

static bool read_segment(struct mimalloc *mimalloc, uint64_t address, struct segment *segment)
{
  const unsigned char *header = hwi_memory_bytes(&mimalloc->reader, address, HEADER_BYTES);
  if (!header)
    return false;
  *segment = (struct segment){.address = address,
                              .slices = load_64(header + AT_SLICES),
                              .own_slices = load_64(header + AT_OWN_SLICES),
                              .entries = load_64(header + AT_ENTRY_COUNT),
                              .used = load_64(header + AT_USED),
                              .cookie = load_64(header + AT_COOKIE),
                              .is_huge = load_32(header + AT_KIND) == 1};
  if (segment->entries == 0 || segment->entries > SLICES || segment->own_slices == 0 ||
      segment->own_slices >= segment->entries || segment->slices < segment->entries ||
      segment->slices > UINT64_MAX / SLICE_BYTES - address / SLICE_BYTES || load_32(header + AT_KIND) > 1 ||
      segment->used > segment->entries || (!segment->is_huge && segment->slices != segment->entries))
    return false;
  segment->header = hwi_memory_bytes(&mimalloc->reader, address, HEADER_BYTES + segment->entries * ENTRY_BYTES);
  return segment->header;
}

static const unsigned char *entry_of(const struct segment *segment, uint64_t number)
{
  return segment->header + AT_ENTRIES + number * ENTRY_BYTES;
}

/* Returns the number of the entry after this one, or 0 if that cannot be. */
static uint64_t next_entry(const struct segment *segment, uint64_t number)
{
  const uint64_t count = load_32(entry_of(segment, number) + AT_SLICE_COUNT);
  const uint64_t end = segment->is_huge ? segment->slices : segment->entries;
  return count && count <= end - number ? number + count : 0;
}

static bool is_page(const struct segment *segment, uint64_t number)
{
  return load_32(entry_of(segment, number) + AT_BLOCK_BYTES);
}

/* Returns whether the segment is whole: then it is one, without any doubt. */
static bool is_whole(const struct segment *segment)
{
  uint64_t pages = 0, number = segment->own_slices;
  if (load_32(entry_of(segment, 0) + AT_SLICE_COUNT) != segment->own_slices)
    return false;
  while (number && number < segment->entries) {
    pages += is_page(segment, number);
    number = next_entry(segment, number);
  }
  return number == (segment->is_huge ? segment->slices : segment->entries) && pages == segment->used;
}

/* Calls `take` for each segment of the process; while its number is not known, for all that are whole. */
static void each_segment(struct mimalloc *mimalloc, bool (*take)(struct mimalloc *, const struct segment *))
{
  const struct hwi_memory *memory = mimalloc->memory;
  for (size_t i = 0; i < memory->region_count; i++) {
    const struct hwi_region *region = &memory->regions[i];
    uint64_t at = (region->begin + SEGMENT_BYTES - 1) & ~(SEGMENT_BYTES - 1);
    for (; region->is_writable && at >= region->begin && hwi_region_has(region, at, HEADER_BYTES);
         at += SEGMENT_BYTES) {
      struct segment segment;
      if (read_segment(mimalloc, at, &segment) &&
          (mimalloc->number ? (segment.cookie ^ at) == mimalloc->number : is_whole(&segment)) &&
          !take(mimalloc, &segment))
        return;
    }
  }
}

/* --- pages --- */

/* Reads the page of an entry. Returns false if it cannot be one. */
static bool read_page(const struct mimalloc *mimalloc, const struct segment *segment, uint64_t number,
                      struct page *page)
{
  const unsigned char *entry = entry_of(segment, number);
  const uint64_t next = next_entry(segment, number);
  *page = (struct page){.entry = entry,
                        .begin = segment->address + number * SLICE_BYTES,
                        .end = segment->address + next * SLICE_BYTES,
                        .block_bytes = load_32(entry + AT_BLOCK_BYTES),
                        .capacity = load_16(entry + AT_CAPACITY),
                        .reserved = load_16(entry + AT_RESERVED),
                        .used = load_32(entry + AT_USED_BLOCKS)};
  if (next == 0)
    return false;
  page->first = page->begin + (page->block_bytes <= SMALL_BLOCK ? mimalloc->page_off : 0);
  if (page->block_bytes >= LARGEST_BLOCK)
    page->block_bytes = page->end - page->first;
  return page->block_bytes >= LEAST_BLOCK && page->capacity <= page->reserved && page->used <= page->capacity &&
         page->reserved <= (page->end - page->first) / page->block_bytes;
}

/* How much later pages of small blocks begin: their blocks fill them. */
static bool measure_pages(struct mimalloc *mimalloc, const struct segment *segment)
{
  mimalloc->number = segment->cookie ^ segment->address;
  for (uint64_t number = segment->own_slices; number && number < segment->entries;
       number = next_entry(segment, number)) {
    struct page page;
    const uint64_t bytes = load_32(entry_of(segment, number) + AT_BLOCK_BYTES);
    if (bytes == 0 || bytes > SMALL_BLOCK)
      continue;
    for (size_t i = 0; i < sizeof page_offs / sizeof *page_offs && !mimalloc->page_off; i++) {
      mimalloc->page_off = page_offs[i];
      if (!read_page(mimalloc, segment, number, &page) || page.reserved != (page.end - page.first) / page.block_bytes ||
          (load_64(page.entry + AT_FREE) && (load_64(page.entry + AT_FREE) - page.first) % page.block_bytes))
        mimalloc->page_off = 0;
    }
    if (mimalloc->page_off)
      return false; /* it is known */
    mimalloc->number = 0;
    return true; /* no segment of a version that is read */
  }
  return true;
}

static bool note_heaps(struct mimalloc *mimalloc, const struct segment *segment)
{
  uint64_t last = 0;
  for (uint64_t number = segment->own_slices; number && number < segment->entries;
       number = next_entry(segment, number)) {
    const uint64_t heap = is_page(segment, number) ? load_64(entry_of(segment, number) + AT_HEAP) : 0;
    if (heap == 0 || heap == last)
      continue;
    last = heap;
    if (!hwi_grow((void **)&mimalloc->heaps, &mimalloc->heap_capacity, mimalloc->heap_count + 1,
                  sizeof *mimalloc->heaps)) {
      mimalloc->failed = true;
      return false;
    }
    mimalloc->heaps[mimalloc->heap_count++] = heap;
  }
  return true;
}

static int compare(const void *a, const void *b)
{
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

static void sort(uint64_t *list, size_t count)
{
  if (count)
    qsort(list, count, sizeof *list, compare);
}

/* Lists the blocks that other threads freed, and gave to the heap of their page. */
static void find_freed(struct mimalloc *mimalloc)
{
  sort(mimalloc->heaps, mimalloc->heap_count);
  for (size_t i = 0; i < mimalloc->heap_count && !mimalloc->failed; i++) {
    uint64_t block, next;
    if ((i && mimalloc->heaps[i] == mimalloc->heaps[i - 1]) ||
        !hwi_memory_word(&mimalloc->reader, mimalloc->heaps[i] + HEAP_LIST_OFF, &block))
      continue;
    for (; block && mimalloc->freed_count < mimalloc->blocks_left; block = next) {
      if (!hwi_memory_word(&mimalloc->reader, block, &next)) {
        hwi_core_heap_note_damage(mimalloc->heap, mimalloc->heaps[i],
                                  "a list of freed blocks leads from this heap to %#" PRIx64, block);
        break;
      }
      if (!hwi_grow((void **)&mimalloc->freed, &mimalloc->freed_capacity, mimalloc->freed_count + 1,
                    sizeof *mimalloc->freed)) {
        mimalloc->failed = true;
        return;
      }
      mimalloc->freed[mimalloc->freed_count++] = block;
    }
  }
  sort(mimalloc->freed, mimalloc->freed_count);
}

/* --- blocks --- */

/* Marks a block as free. Returns false if that cannot be. */
static bool mark_free(struct mimalloc *mimalloc, const struct page *page, uint64_t block)
{
  const uint64_t off = block - page->first, number = off / page->block_bytes;
  if (block < page->first || off % page->block_bytes || number >= page->capacity ||
      mimalloc->is_free[number / 8] >> number % 8 & 1)
    return false;
  mimalloc->is_free[number / 8] |= (uint8_t)(1 << number % 8);
  return true;
}

/* Marks the blocks of a list. Returns their number. */
static uint32_t mark_list(struct mimalloc *mimalloc, const struct page *page, uint64_t block)
{
  uint32_t count = 0;
  for (uint64_t next; block; block = next, count++)
    if (!mark_free(mimalloc, page, block) || !hwi_memory_word(&mimalloc->reader, block, &next)) {
      if (!mimalloc->is_changing)
        hwi_core_heap_note_damage(mimalloc->heap, page->begin, "a list of free blocks of this page leads to %#" PRIx64,
                                  block);
      return count;
    }
  return count;
}

/* Marks those of the page that are in lists of heaps. Returns their number. */
static uint32_t mark_freed(struct mimalloc *mimalloc, const struct page *page)
{
  size_t low = 0, high = mimalloc->freed_count;
  uint32_t count = 0;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (mimalloc->freed[middle] < page->first)
      low = middle + 1;
    else
      high = middle;
  }
  for (; low < mimalloc->freed_count && mimalloc->freed[low] < page->end; low++)
    count += mark_free(mimalloc, page, mimalloc->freed[low]);
  return count;
}

static void add_block(struct mimalloc *mimalloc, uint64_t address, uint64_t bytes, enum hwi_core_block_state state)
{
  struct hwi_core_heap *heap = mimalloc->heap;
  if (mimalloc->blocks_left == 0)
    return;
  mimalloc->blocks_left--;
  if (!hwi_core_heap_add_block(heap, &heap->parts[heap->part_count - 1], address, bytes, state))
    mimalloc->failed = true;
}

static void take_page(struct mimalloc *mimalloc, const struct page *page)
{
  memset(mimalloc->is_free, 0, page->capacity / 8 + 1);
  const uint32_t own = mark_list(mimalloc, page, load_64(page->entry + AT_FREE)) +
                       mark_list(mimalloc, page, load_64(page->entry + AT_LOCAL_FREE));
  mark_list(mimalloc, page, load_64(page->entry + AT_THREAD_FREE) & ~(uint64_t)LIST_FLAGS);
  mark_freed(mimalloc, page);
  if (own + page->used != page->capacity && !mimalloc->is_changing)
    hwi_core_heap_note_damage(mimalloc->heap, page->begin,
                              "this page counts %" PRIu32 " blocks in use of %" PRIu32 ", and has %" PRIu32
                              " in its lists",
                              page->used, page->capacity, own);
  for (uint32_t i = 0; i < page->capacity && !mimalloc->failed; i++)
    add_block(mimalloc, page->first + i * page->block_bytes, page->block_bytes,
              mimalloc->is_free[i / 8] >> i % 8 & 1 ? HWI_CORE_BLOCK_FREE : HWI_CORE_BLOCK_LIVE);
  const uint64_t rest = page->first + page->capacity * page->block_bytes;
  if (page->capacity < page->reserved && !mimalloc->failed)
    add_block(mimalloc, rest, page->end - rest, HWI_CORE_BLOCK_FREE);
}

static bool is_committed(const struct segment *segment, uint64_t slice)
{
  return segment->is_huge || segment->header[AT_COMMITTED + slice / 8] >> slice % 8 & 1;
}

/* Adds the slices that are committed and in no page. Returns their bytes. */
static uint64_t take_unused(struct mimalloc *mimalloc, const struct segment *segment, uint64_t slice, uint64_t end)
{
  uint64_t bytes = 0;
  for (uint64_t next; slice < end && !mimalloc->failed; slice = next) {
    next = slice + 1;
    if (!is_committed(segment, slice))
      continue;
    while (next < end && is_committed(segment, next))
      next++;
    add_block(mimalloc, segment->address + slice * SLICE_BYTES, (next - slice) * SLICE_BYTES, HWI_CORE_BLOCK_FREE);
    bytes += (next - slice) * SLICE_BYTES;
  }
  return bytes;
}

/* Adds the slices from `number` to `next`. Returns the bytes that are understood. */
static uint64_t take_entry(struct mimalloc *mimalloc, const struct segment *segment, uint64_t number, uint64_t next)
{
  struct page page;
  if (!is_page(segment, number) || load_32(entry_of(segment, number) + AT_BLOCK_BYTES) == GIVEN_BACK)
    return take_unused(mimalloc, segment, number, next);
  if (read_page(mimalloc, segment, number, &page)) {
    take_page(mimalloc, &page);
    return page.end - page.begin;
  }
  hwi_core_heap_note_damage(mimalloc->heap, segment->address + AT_ENTRIES + number * ENTRY_BYTES,
                            "this entry of a segment describes a page that cannot be; %" PRIu64
                            " bytes are not understood",
                            (next - number) * SLICE_BYTES);
  return 0;
}

static uint64_t committed_bytes(const struct segment *segment)
{
  uint64_t bytes = 0;
  for (uint64_t i = 0; i < segment->entries && !segment->is_huge; i++)
    bytes += is_committed(segment, i) ? SLICE_BYTES : 0;
  return segment->is_huge ? segment->slices * SLICE_BYTES : bytes;
}

static bool take_segment(struct mimalloc *mimalloc, const struct segment *segment)
{
  struct hwi_core_heap *heap = mimalloc->heap;
  struct hwi_core_heap_part *part = &heap->parts[heap->part_count - 1];
  uint64_t number = segment->own_slices;
  mimalloc->is_changing = hwi_inside_has(&mimalloc->inside, load_64(segment->header + AT_THREAD));
  part->system_bytes += committed_bytes(segment);
  part->understood_bytes += segment->own_slices * SLICE_BYTES;
  mimalloc->failed |= !hwi_core_heap_add_own(heap, segment->address, segment->address + segment->slices * SLICE_BYTES);
  while (number < segment->entries && !mimalloc->failed) {
    const uint64_t next = next_entry(segment, number);
    if (next == 0) {
      hwi_core_heap_note_damage(heap, segment->address + AT_ENTRIES + number * ENTRY_BYTES,
                                "this entry of a segment does not lead on; %" PRIu64 " bytes are not understood",
                                (segment->entries - number) * SLICE_BYTES);
      break;
    }
    part->understood_bytes += take_entry(mimalloc, segment, number, next);
    number = next;
  }
  return !mimalloc->failed;
}

/* --- all --- */

static bool has_mimalloc(const struct hwi_memory *memory)
{
  for (size_t i = 0; i < memory->region_count; i++)
    if (memory->regions[i].file && strstr(memory->regions[i].file, library))
      return true;
  return false;
}

static bool take_all(struct mimalloc *mimalloc)
{
  for (size_t i = 0; i < mimalloc->memory->region_count; i++)
    mimalloc->blocks_left += mimalloc->memory->regions[i].known / LEAST_BLOCK;
  mimalloc->failed = !hwi_inside_find(&mimalloc->inside, mimalloc->memory, library);
  if (!mimalloc->failed)
    each_segment(mimalloc, note_heaps);
  if (!mimalloc->failed)
    find_freed(mimalloc);
  if (mimalloc->failed || !hwi_core_heap_add_part(mimalloc->heap, HWI_CORE_MIMALLOC, "mimalloc's segments", 0))
    return false;
  each_segment(mimalloc, take_segment);
  if (mimalloc->blocks_left == 0)
    hwi_core_heap_note_damage(mimalloc->heap, 0, "mimalloc's pages have more blocks than there is memory");
  return !mimalloc->failed;
}

int hwi_mimalloc_find(struct hwi_core_heap *heap, const struct hwi_memory *memory, struct hwi_error *error)
{
  struct mimalloc mimalloc = {.heap = heap, .memory = memory, .reader = {.memory = memory}};
  int status = HW_ERR_USAGE;
  if (memory->word_bytes == sizeof(uint64_t) && !memory->swaps_bytes)
    each_segment(&mimalloc, measure_pages);
  if (!mimalloc.number) {
    if (has_mimalloc(memory))
      hwi_error_set(error, status, "of mimalloc, only release builds of 2.0.9 are read");
  } else if (take_all(&mimalloc)) {
    status = 0;
  } else {
    status = hwi_error_set(error, HW_ERR_MEMORY, "no memory for the list of blocks; use a larger machine");
  }
  hwi_inside_release(&mimalloc.inside);
  free(mimalloc.heaps);
  free(mimalloc.freed);
  return status;
}
