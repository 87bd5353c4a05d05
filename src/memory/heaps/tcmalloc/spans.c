/* spans.c - finds tcmalloc's map of spans, and the blocks in them
 *
 * Central lists lead to some spans. A word in the data of a module is in the root if the node whose address it has leads to these
 * spans, from the places that follow from their pages.
 *
 * A span counts the blocks that are used, and has a list of the others: both must agree. A span of which that is not so is damaged,
 * and not understood.
 */
#include <stdlib.h>

#include "memory/heaps/tcmalloc/tcmalloc.h"

enum { WORD = 8, LEAF_BITS = 18, ROOT_BITS = 17, ADDRESS_BITS = 48, SPAN_BYTES = 48 };

struct span {
  uint64_t at; /* its description */
  uint64_t page, pages;
  uint64_t list; /* its first free block */
  unsigned used_count, class;
  enum { IN_USE, FREE, RETURNED, PLACES } place;
};

static bool read_span(struct hwi_tcmalloc *tcmalloc, uint64_t at, struct span *span)
{
  enum { PAGES_OFF = 8, LIST_OFF = 32, BITS_OFF = 40, CLASS = 16, CLASS_MASK = 0xff, PLACE = 24, PLACE_MASK = 3 };
  const uint64_t page_end = (uint64_t)1 << (ADDRESS_BITS - HWI_TCMALLOC_PAGE_SHIFT);
  const unsigned char *bytes = hwi_memory_bytes(&tcmalloc->spans, at, SPAN_BYTES);
  if (!bytes || at % WORD)
    return false;
  const uint32_t bits = hwi_memory_load_32(tcmalloc->memory, bytes + BITS_OFF);
  *span = (struct span){.at = at,
                        .page = hwi_memory_load(tcmalloc->memory, bytes),
                        .pages = hwi_memory_load(tcmalloc->memory, bytes + PAGES_OFF),
                        .list = hwi_memory_load(tcmalloc->memory, bytes + LIST_OFF),
                        .used_count = (uint16_t)bits,
                        .class = bits >> CLASS & CLASS_MASK,
                        .place = bits >> PLACE & PLACE_MASK};
  return span->pages && span->page && span->page < page_end && span->pages <= page_end - span->page &&
         span->place < PLACES && span->class < tcmalloc->class_count &&
         (span->place != IN_USE || !span->class || span->pages == tcmalloc->pages[span->class]);
}

/* Returns whether the span has the page, and the map has to lead from that page to it. */
static bool has_page(const struct span *span, uint64_t page)
{
  return page - span->page < span->pages &&
         (page == span->page || page == span->page + span->pages - 1 || (span->place == IN_USE && span->class));
}

/* Returns the first place from `i` on of a node whose word is in known memory, or one behind the node. Each takes a step. */
static uint64_t known_place(struct hwi_tcmalloc *tcmalloc, uint64_t node, uint64_t i, unsigned bits)
{
  const uint64_t places = (uint64_t)1 << bits;
  while (i < places && tcmalloc->steps_left) {
    const uint64_t unknown = hwi_memory_unknown_count(&tcmalloc->nodes, node + i * WORD, WORD);
    tcmalloc->steps_left--;
    if (unknown == 0)
      return i;
    i = unknown < places - i ? i + unknown : places;
  }
  return places;
}

/* --- the root --- */

/* Spans that central lists have: the map leads to them. */
struct samples {
  struct span spans[16];
  unsigned count;
};

static void add_sample(struct hwi_tcmalloc *tcmalloc, struct samples *samples, uint64_t at)
{
  if (samples->count < sizeof samples->spans / sizeof *samples->spans &&
      read_span(tcmalloc, at, &samples->spans[samples->count]) && samples->spans[samples->count].class)
    samples->count++;
}

static void find_samples(struct hwi_tcmalloc *tcmalloc, struct samples *samples)
{
  for (unsigned i = 1; i < tcmalloc->class_count; i++) {
    const uint64_t central = tcmalloc->central + (uint64_t)i * HWI_TCMALLOC_CENTRAL_BYTES;
    uint64_t at;
    if (hwi_memory_word(&tcmalloc->reader, central + HWI_TCMALLOC_CENTRAL_USED_OFF, &at))
      add_sample(tcmalloc, samples, at);
    if (hwi_memory_word(&tcmalloc->reader, central + HWI_TCMALLOC_CENTRAL_FREE_OFF, &at))
      add_sample(tcmalloc, samples, at);
  }
}

static bool leads_to(struct hwi_tcmalloc *tcmalloc, uint64_t root, const struct span *span)
{
  const uint64_t place = span->page & (((uint64_t)1 << LEAF_BITS) - 1);
  uint64_t leaf, word;
  return hwi_memory_word(&tcmalloc->reader, root + (span->page >> LEAF_BITS) * WORD, &leaf) && leaf &&
         hwi_memory_word(&tcmalloc->nodes, leaf + place * WORD, &word) && word == span->at;
}

/* Most samples must be where the root leads to: a damaged one does not hide it. */
static bool is_root(struct hwi_tcmalloc *tcmalloc, uint64_t root, const struct samples *samples)
{
  unsigned found = 0;
  for (unsigned i = 0; i < samples->count; i++)
    found += leads_to(tcmalloc, root, &samples->spans[i]);
  return found > samples->count / 2;
}

static bool search_region(struct hwi_tcmalloc *tcmalloc, const struct hwi_region *region, const struct samples *samples)
{
  for (uint64_t off = 0; off + WORD <= region->known; off += WORD) {
    if (!hwi_memory_load(tcmalloc->memory, region->bytes + off))
      continue;
    for (unsigned i = 0; i < samples->count; i++) {
      const uint64_t root = region->begin + off - (samples->spans[i].page >> LEAF_BITS) * WORD;
      if (leads_to(tcmalloc, root, &samples->spans[i]) && is_root(tcmalloc, root, samples)) {
        tcmalloc->root = root;
        return true;
      }
    }
  }
  return false;
}

bool hwi_tcmalloc_find_map(struct hwi_tcmalloc *tcmalloc)
{
  const struct hwi_memory *memory = tcmalloc->memory;
  const bool knows_files = hwi_memory_knows_files(memory);
  struct samples samples = {.count = 0};
  find_samples(tcmalloc, &samples);
  for (size_t i = 0; i < memory->region_count; i++)
    if (hwi_memory_is_data(memory, i, knows_files) && search_region(tcmalloc, &memory->regions[i], &samples))
      return true;
  return false;
}

/* --- blocks --- */

enum {
  BITS = 64,
  LEAST_BYTES = 8,
  BLOCKS_MOST = HWI_TCMALLOC_CLASS_PAGES_MOST * HWI_TCMALLOC_PAGE_BYTES / LEAST_BYTES
};

struct taking {
  struct hwi_tcmalloc *tcmalloc;
  struct hwi_core_heap *heap;
  struct hwi_core_heap_part *part;
  uint64_t next;                     /* page that is in no span yet */
  uint64_t unsound;                  /* the description that the last unsound word led to */
  uint64_t free[BLOCKS_MOST / BITS]; /* bits of the blocks of a span */
};

static bool add_block(const struct taking *taking, uint64_t address, uint64_t bytes, enum hwi_core_block_state state)
{
  if (!taking->tcmalloc->blocks_left)
    return true;
  taking->tcmalloc->blocks_left--;
  return hwi_core_heap_add_block(taking->heap, taking->part, address, bytes, state);
}

/* Marks the free blocks of a span. Returns whether all is sound. */
static bool mark_free(struct taking *taking, const struct span *span, uint64_t begin, uint64_t bytes, uint64_t count)
{
  uint64_t block = span->list, marked = 0;
  memset(taking->free, 0, (count + BITS - 1) / BITS * WORD);
  while (block) {
    const uint64_t i = (block - begin) / bytes;
    if (i >= count || (block - begin) % bytes || taking->free[i / BITS] >> i % BITS & 1 ||
        !hwi_memory_word(&taking->tcmalloc->blocks, begin + i * bytes, &block)) {
      hwi_core_heap_note_damage(taking->heap, begin, "the list of free blocks of the span here leads to %#llx",
                                (unsigned long long)block);
      return false;
    }
    taking->free[i / BITS] |= (uint64_t)1 << i % BITS;
    marked++;
  }
  if (marked + span->used_count == count)
    return true;
  hwi_core_heap_note_damage(taking->heap, begin, "of the %llu blocks of the span here, %u are used, and %llu are free",
                            (unsigned long long)count, span->used_count, (unsigned long long)marked);
  return false;
}

static enum hwi_core_block_state state_of_used(const struct taking *taking, uint64_t block)
{
  const enum hwi_core_block_state state = hwi_kept_state(&taking->tcmalloc->kept, block);
  return state == HWI_CORE_BLOCK_LIVE && hwi_tcmalloc_is_own(taking->tcmalloc, block) ? HWI_CORE_BLOCK_OWN : state;
}

static bool take_blocks(struct taking *taking, const struct span *span, uint64_t begin)
{
  const uint64_t bytes = taking->tcmalloc->sizes[span->class];
  const uint64_t count = (span->pages << HWI_TCMALLOC_PAGE_SHIFT) / bytes;
  bool done = true;
  if (!mark_free(taking, span, begin, bytes, count))
    return true;
  taking->part->understood_bytes += span->pages << HWI_TCMALLOC_PAGE_SHIFT;
  for (uint64_t i = 0; i < count && done; i++) {
    const uint64_t block = begin + i * bytes;
    done = add_block(taking, block, bytes,
                     taking->free[i / BITS] >> i % BITS & 1 ? HWI_CORE_BLOCK_FREE : state_of_used(taking, block));
  }
  return done;
}

static bool take_span(struct taking *taking, const struct span *span)
{
  const uint64_t begin = span->page << HWI_TCMALLOC_PAGE_SHIFT, bytes = span->pages << HWI_TCMALLOC_PAGE_SHIFT;
  taking->next = span->page + span->pages;
  if (span->place == RETURNED)
    return true;
  taking->part->system_bytes += bytes;
  if (span->place == IN_USE && span->class)
    return take_blocks(taking, span, begin);
  taking->part->understood_bytes += bytes;
  return add_block(taking, begin, bytes, span->place == FREE ? HWI_CORE_BLOCK_FREE : HWI_CORE_BLOCK_LIVE);
}

static bool take_page(struct taking *taking, uint64_t page, uint64_t description)
{
  struct span span;
  if (page < taking->next)
    return true;
  if (read_span(taking->tcmalloc, description, &span) && has_page(&span, page) && span.page >= taking->next)
    return take_span(taking, &span);
  taking->part->system_bytes += HWI_TCMALLOC_PAGE_BYTES;
  if (taking->unsound != description)
    hwi_core_heap_note_damage(taking->heap, page << HWI_TCMALLOC_PAGE_SHIFT,
                              "the page here belongs to no sound span of tcmalloc");
  taking->unsound = description;
  return true;
}

static bool take_leaf(struct taking *taking, uint64_t leaf, uint64_t first)
{
  struct hwi_tcmalloc *tcmalloc = taking->tcmalloc;
  bool done = true;
  for (uint64_t i = 0; i = known_place(tcmalloc, leaf, i, LEAF_BITS), i >> LEAF_BITS == 0 && done; i++) {
    uint64_t word;
    if (hwi_memory_word(&tcmalloc->nodes, leaf + i * WORD, &word) && word)
      done = take_page(taking, first + i, word);
  }
  return done;
}

bool hwi_tcmalloc_take_spans(struct hwi_tcmalloc *tcmalloc, struct hwi_core_heap *heap)
{
  struct taking *taking = calloc(1, sizeof *taking);
  bool done = taking;
  if (taking) {
    *taking = (struct taking){
        .tcmalloc = tcmalloc, .heap = heap, .part = hwi_core_heap_add_part(heap, HWI_CORE_TCMALLOC, "tcmalloc", 0)};
    done = taking->part;
  }
  for (uint64_t i = 0; done && (i = known_place(tcmalloc, tcmalloc->root, i, ROOT_BITS), i >> ROOT_BITS == 0); i++) {
    uint64_t leaf;
    if (hwi_memory_word(&tcmalloc->nodes, tcmalloc->root + i * WORD, &leaf) && leaf)
      done = take_leaf(taking, leaf, i << LEAF_BITS);
  }
  free(taking);
  if (done)
    hwi_kept_note_damage(&tcmalloc->kept, heap);
  return done;
}
