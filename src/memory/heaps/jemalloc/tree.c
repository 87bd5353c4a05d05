/* tree.c - finds jemalloc's tree of extents, and reads it
 *
 * An entry of a leaf has the address of an extent's description, and that has the address of the pages to which the entry belongs:
 * the two must agree, and nothing else in memory looks like that. The first and the last page of each extent are in the tree, and
 * all pages of slabs. The root is searched in the data of modules: a word there with the address of a node, which is in a base,
 * must be in the root, at a place that follows from the addresses of the node's extents.
 */
#include <stdlib.h>

#include "memory/heaps/jemalloc/jemalloc.h"
#include "trace/table.h"

enum { WORD = 8, NODE_ALIGNMENT = 64, DESCRIPTION_BYTES = 128, PAGE_SHIFT = 12 };
enum { TRIES = 16 }; /* entries of a node that are looked at, to find the root */

/* By the bits of addresses: 48, as most builds have it, and 57. */
static const struct hwi_jemalloc_shape shapes[] = {{2, 18, WORD}, {3, 15, 2 * WORD}};

static const uint64_t address_end = (uint64_t)1 << 48;

/* Other structures have addresses where a description has the size, which make one that all pages would belong to. */
static const uint64_t largest_extent = (uint64_t)1 << 40;

static bool is_leaf(const struct hwi_jemalloc *jemalloc, unsigned level)
{
  return level == jemalloc->shape->levels - 1;
}

static unsigned entry_bytes(const struct hwi_jemalloc *jemalloc, unsigned level)
{
  return is_leaf(jemalloc, level) ? jemalloc->shape->leaf_entry_bytes : WORD;
}

/* Returns the part of a page's number that a level decides by. */
static uint64_t place_of(const struct hwi_jemalloc *jemalloc, unsigned level, uint64_t page)
{
  const unsigned bits = jemalloc->shape->bits;
  return page >> (jemalloc->shape->levels - 1 - level) * bits & (((uint64_t)1 << bits) - 1);
}

static uint64_t first_page(const struct hwi_jemalloc_extent *extent)
{
  return extent->address >> PAGE_SHIFT;
}

static uint64_t page_count(const struct hwi_jemalloc_extent *extent)
{
  return extent->bytes >> PAGE_SHIFT;
}

/* --- an entry --- */

/* What an entry of a leaf says about an extent. */
struct entry {
  uint64_t description;
  unsigned class;
  enum hwi_jemalloc_state state;
  bool is_slab;
};

static unsigned field(uint64_t bits, unsigned shift, unsigned width)
{
  return (unsigned)(bits >> shift & (((uint64_t)1 << width) - 1));
}

/* Short entries have all of it in one word. */
static bool read_entry(struct hwi_jemalloc *jemalloc, uint64_t at, struct entry *entry)
{
  enum { SLAB = 0, STATE = 2, STATE_WIDTH = 3, CLASS = 5, SHORT_CLASS = 48, CLASS_WIDTH = 8 };
  const bool is_short = jemalloc->shape->leaf_entry_bytes == WORD;
  uint64_t first, second;
  if (!hwi_memory_word(&jemalloc->nodes, at, &first))
    return false;
  second = first;
  if (!is_short && !hwi_memory_word(&jemalloc->nodes, at + WORD, &second))
    return false;
  *entry = (struct entry){
      .description = is_short ? first & (address_end - 1) & ~(uint64_t)(DESCRIPTION_BYTES - 1) : first,
      .class = field(second, is_short ? SHORT_CLASS : CLASS, CLASS_WIDTH),
      .state = (enum hwi_jemalloc_state)field(second, STATE, STATE_WIDTH),
      .is_slab = field(second, SLAB, 1),
  };
  return true;
}

/* The entry of the last page of a large block has no class. */
static bool agree(const struct entry *entry, const struct hwi_jemalloc_extent *extent, bool is_first)
{
  return entry->state == extent->state &&
         (extent->state != HWI_JEMALLOC_ACTIVE ||
          (entry->is_slab == extent->is_slab && (entry->class == extent->class || !(extent->is_slab || is_first))));
}

/* Reads the extent that an entry leads to. Returns false if it cannot be right. */
static bool read_extent(struct hwi_jemalloc *jemalloc, uint64_t description, struct hwi_jemalloc_extent *extent)
{
  enum { ARENA = 0, ARENA_WIDTH = 12, SLAB = 12, STATE = 17, STATE_WIDTH = 3, CLASS = 20, CLASS_WIDTH = 8 };
  enum { FREE = 28, FREE_WIDTH = 10, ADDRESS_OFF = 8, BYTES_OFF = 16 };
  const unsigned char *bytes = hwi_memory_bytes(&jemalloc->descriptions, description, DESCRIPTION_BYTES);
  if (description % DESCRIPTION_BYTES || !bytes)
    return false;
  const uint64_t bits = hwi_memory_load(jemalloc->memory, bytes);
  *extent = (struct hwi_jemalloc_extent){
      .at = description,
      .address = hwi_memory_load(jemalloc->memory, bytes + ADDRESS_OFF),
      .bytes = hwi_memory_load(jemalloc->memory, bytes + BYTES_OFF) & ~(uint64_t)(HWI_JEMALLOC_PAGE_BYTES - 1),
      .state = (enum hwi_jemalloc_state)field(bits, STATE, STATE_WIDTH),
      .arena = field(bits, ARENA, ARENA_WIDTH),
      .class = field(bits, CLASS, CLASS_WIDTH),
      .free_count = field(bits, FREE, FREE_WIDTH),
      .is_slab = field(bits, SLAB, 1),
  };
  return extent->state < HWI_JEMALLOC_STATES && extent->bytes && extent->bytes <= largest_extent && extent->address &&
         extent->address < address_end && extent->bytes <= address_end - extent->address;
}

/* Reads the extent that an entry leads to, if the page belongs to it. */
static bool read_page(struct hwi_jemalloc *jemalloc, const struct entry *entry, uint64_t page,
                      struct hwi_jemalloc_extent *extent)
{
  return read_extent(jemalloc, entry->description, extent) && page - first_page(extent) < page_count(extent) &&
         agree(entry, extent, page == first_page(extent));
}

/* --- the root --- */

/* Returns whether the entry at a place of a leaf is sound, and the page that it is about. */
static bool is_page(struct hwi_jemalloc *jemalloc, uint64_t at, uint64_t place, uint64_t *page)
{
  const uint64_t places = (uint64_t)1 << jemalloc->shape->bits;
  struct hwi_jemalloc_extent extent;
  struct entry entry;
  if (!read_entry(jemalloc, at, &entry) || !read_extent(jemalloc, entry.description, &extent))
    return false;
  *page = first_page(&extent) + ((place - first_page(&extent)) & (places - 1));
  return read_page(jemalloc, &entry, *page, &extent);
}

/* Returns the address that an entry of a node or of a leaf leads to; 0: none. */
static uint64_t target_of(struct hwi_jemalloc *jemalloc, unsigned level, uint64_t at)
{
  struct entry entry = {0};
  uint64_t node = 0;
  if (is_leaf(jemalloc, level))
    return read_entry(jemalloc, at, &entry) ? entry.description : 0;
  return hwi_memory_word(&jemalloc->nodes, at, &node) ? node : 0;
}

/* Returns the first place from `i` on whose entry is in known memory, or one behind the node. Each takes a step. */
static uint64_t known_place(struct hwi_jemalloc *jemalloc, unsigned level, uint64_t node, uint64_t i)
{
  const uint64_t bytes = entry_bytes(jemalloc, level), places = (uint64_t)1 << jemalloc->shape->bits;
  while (i < places && jemalloc->steps_left) {
    const uint64_t unknown = hwi_memory_unknown_count(&jemalloc->nodes, node + i * bytes, bytes);
    jemalloc->steps_left--;
    if (unknown == 0)
      return i;
    i = unknown < places - i ? i + unknown : places;
  }
  return places;
}

/* Returns how many of the first entries of a node are sound, and one of the pages that they lead to; 0: this is no node of that level.
 * Most of them must be sound: a damaged one does not hide it. */
static unsigned sound_entries(struct hwi_jemalloc *jemalloc, unsigned level, uint64_t node, uint64_t *page)
{
  const unsigned bits = jemalloc->shape->bits;
  unsigned tries = 0, found = 0;
  for (uint64_t i = 0; i = known_place(jemalloc, level, node, i), i >> bits == 0 && tries < TRIES; i++) {
    const uint64_t at = node + i * entry_bytes(jemalloc, level), target = target_of(jemalloc, level, at);
    uint64_t tried;
    tries += target != 0;
    if (target && (is_leaf(jemalloc, level)
                       ? is_page(jemalloc, at, i, &tried)
                       : sound_entries(jemalloc, level + 1, target, &tried) && place_of(jemalloc, level, tried) == i)) {
      *page = tried;
      found++;
    }
  }
  return found > tries / 2 ? found : 0;
}

static bool is_in_base(const struct hwi_jemalloc *jemalloc, uint64_t address)
{
  for (size_t i = 0; i < jemalloc->base_count; i++)
    if (address - jemalloc->bases[i].begin < jemalloc->bases[i].end - jemalloc->bases[i].begin)
      return true;
  return false;
}

/* What is known of the root. An entry of another structure may be sound by chance, so that the node with the most is taken; and the
 * caches of threads have addresses of nodes, too, so that what is around such an address must look like the root. */
struct found_root {
  uint64_t root;
  const struct hwi_jemalloc_shape *shape;
  unsigned entries; /* 0: nothing is known */
};

static void search_region(struct hwi_jemalloc *jemalloc, const struct hwi_region *region, struct found_root *best)
{
  for (uint64_t off = 0; off + WORD <= region->known && best->entries < TRIES; off += WORD) {
    const uint64_t node = hwi_memory_load(jemalloc->memory, region->bytes + off);
    if (!node || node % NODE_ALIGNMENT || !is_in_base(jemalloc, node))
      continue;
    uint64_t page, any;
    const unsigned entries = sound_entries(jemalloc, 1, node, &page);
    const uint64_t root = entries ? region->begin + off - place_of(jemalloc, 0, page) * WORD : 0;
    if (entries > best->entries && sound_entries(jemalloc, 0, root, &any))
      *best = (struct found_root){root, jemalloc->shape, entries};
  }
}

bool hwi_jemalloc_find_tree(struct hwi_jemalloc *jemalloc)
{
  const struct hwi_memory *memory = jemalloc->memory;
  const uint64_t steps = jemalloc->steps_left;
  const bool knows_files = hwi_memory_knows_files(memory);
  struct found_root best = {0};
  for (size_t shape = 0; shape < sizeof shapes / sizeof *shapes; shape++) {
    jemalloc->shape = &shapes[shape];
    for (size_t i = 0; i < memory->region_count; i++)
      if (hwi_memory_is_data(memory, i, knows_files))
        search_region(jemalloc, &memory->regions[i], &best);
  }
  jemalloc->steps_left = steps;
  jemalloc->root = best.root;
  jemalloc->shape = best.shape;
  return best.entries > 0;
}

/* --- all extents --- */

struct walk {
  struct hwi_jemalloc *jemalloc;
  struct hwi_core_heap *heap;
  uint64_t next;    /* page that is in no extent yet */
  uint64_t unsound; /* the description that the last unsound entry led to */
};

static void note_page(struct walk *walk, uint64_t page, uint64_t description)
{
  walk->jemalloc->damaged_bytes += HWI_JEMALLOC_PAGE_BYTES;
  if (walk->unsound != description && !walk->jemalloc->is_changing)
    hwi_core_heap_note_damage(walk->heap, page << PAGE_SHIFT, "the page here belongs to no sound extent of jemalloc");
  walk->unsound = description;
}

static bool take_page(struct walk *walk, uint64_t at, uint64_t page)
{
  struct hwi_jemalloc *jemalloc = walk->jemalloc;
  struct hwi_jemalloc_extent extent;
  struct entry entry = {0};
  if (page < walk->next || !read_entry(jemalloc, at, &entry))
    return true;
  if (!read_page(jemalloc, &entry, page, &extent) || first_page(&extent) < walk->next) {
    note_page(walk, page, entry.description);
    return true;
  }
  walk->next = first_page(&extent) + page_count(&extent);
  if (!hwi_table_grow((void **)&jemalloc->extents, &jemalloc->extent_capacity, jemalloc->extent_count + 1,
                      sizeof extent))
    return false;
  jemalloc->extents[jemalloc->extent_count++] = extent;
  return true;
}

static bool walk_node(struct walk *walk, unsigned level, uint64_t node, uint64_t page)
{
  struct hwi_jemalloc *jemalloc = walk->jemalloc;
  const unsigned bits = jemalloc->shape->bits;
  bool done = true;
  for (uint64_t i = 0; i = known_place(jemalloc, level, node, i), i >> bits == 0 && done; i++) {
    const uint64_t at = node + i * entry_bytes(jemalloc, level), next = page << bits | i;
    const uint64_t target = target_of(jemalloc, level, at);
    if (target)
      done = is_leaf(jemalloc, level) ? take_page(walk, at, next) : walk_node(walk, level + 1, target, next);
  }
  return done;
}

static int compare(const void *a, const void *b)
{
  const struct hwi_jemalloc_extent *x = a, *y = b;
  if (x->arena != y->arena)
    return x->arena < y->arena ? -1 : 1;
  return x->address < y->address ? -1 : x->address > y->address;
}

bool hwi_jemalloc_find_extents(struct hwi_jemalloc *jemalloc, struct hwi_core_heap *heap)
{
  struct walk walk = {.jemalloc = jemalloc, .heap = heap};
  const uint64_t steps = jemalloc->steps_left;
  const bool done = walk_node(&walk, 0, jemalloc->root, 0);
  jemalloc->steps_left = steps;
  if (jemalloc->extent_count)
    qsort(jemalloc->extents, jemalloc->extent_count, sizeof *jemalloc->extents, compare);
  return done;
}
