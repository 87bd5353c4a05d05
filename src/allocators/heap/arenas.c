/* arenas.c - arenas of a general heap: slices are taken and given back
 *
 * A request for slices needs an arena with so many adjoining ones. Kept slices come first, and the arena at the
 * lowest address, so that the others become free, and what is rarely needed stays untouched. Arenas are in lists by
 * the largest group of free slices that they have, and by that of kept slices; a word of bits has the lists that are
 * not empty. A search looks at a few arenas of the shortest groups that are long enough, whatever the size of the
 * heap.
 */
#include "allocators/heap/layout.h"

static const uint64_t ALL_SLICES = ~(uint64_t)0;

void hwi_heap_count_mapped(struct hw_heap *heap, size_t bytes)
{
  heap->mapped_bytes += bytes;
  if (heap->mapped_bytes > heap->peak_mapped_bytes)
    heap->peak_mapped_bytes = heap->mapped_bytes;
}

void hwi_heap_count_page(struct hw_heap *heap, size_t class_index, bool is_taken)
{
  uint32_t count = heap->page_counts[class_index] += is_taken ? 1u : -1u;
  heap->taken_page_counts[class_index] += is_taken;
  if (count > heap->peak_page_counts[class_index])
    heap->peak_page_counts[class_index] = count;
}

/* --- sets of slices --- */

static uint64_t bits(unsigned first, unsigned count)
{
  return (ALL_SLICES >> (HWI_SLICES - count)) << first;
}

static size_t bytes_of(uint64_t set)
{
  return (size_t)__builtin_popcountll(set) * HWI_SLICE_BYTES;
}

/* Returns the first of `count` adjoining slices of the set, which has so many. A bit that stays is the first of `found`
 * slices. */
static unsigned find(uint64_t set, unsigned count)
{
  for (unsigned found = 1, more; found < count; found += more) {
    more = count - found < found ? count - found : found;
    set &= set >> more;
  }
  return (unsigned)__builtin_ctzll(set);
}

/* Returns how many slices the largest group of adjoining ones has. The bits of groups[i] are the first of 2^i slices.
 * Without branches, since it is called for each page. */
static unsigned largest_group(uint64_t set)
{
  enum { POWERS = HWI_UNIT_BITS - (int)HWI_SLICE_BITS };
  uint64_t groups[POWERS] = {set}, longest = ALL_SLICES;
  unsigned length = 0;
  if (set == ALL_SLICES)
    return HWI_SLICES;
  for (unsigned power = 0; power + 1 < POWERS; power++)
    groups[power + 1] = groups[power] & groups[power] >> (1u << power);
  for (unsigned power = POWERS; power-- > 0;) {
    uint64_t longer = longest & groups[power] >> length;
    longest = longer ? longer : longest;
    length += longer ? 1u << power : 0;
  }
  return length;
}

/* --- lists --- */

static uint64_t slices_of(const struct hwi_page *arena, enum hwi_arena_order order)
{
  return order == HWI_BY_KEPT ? hwi_free_slices(arena) & hwi_touched_slices(arena) : hwi_free_slices(arena);
}

static void link_arena(struct hwi_page *arena, enum hwi_arena_order order, unsigned group)
{
  struct hwi_arena_lists *arenas = &arena->heap->arenas[order];
  struct hwi_page *next = arenas->lists[group];
  arena[order].group = (uint8_t)group;
  arena[order].links.prev = NULL;
  arena[order].links.next = next;
  if (next)
    next[order].links.prev = arena;
  arenas->lists[group] = arena;
  if (group)
    arenas->room |= bits(group - 1, 1);
}

static void unlink_arena(struct hwi_page *arena, enum hwi_arena_order order)
{
  struct hwi_arena_lists *arenas = &arena->heap->arenas[order];
  unsigned group = arena[order].group;
  struct hwi_page *next = arena[order].links.next, *prev = arena[order].links.prev;
  if (next)
    next[order].links.prev = prev;
  if (prev)
    prev[order].links.next = next;
  else
    arenas->lists[group] = next;
  if (group && !arenas->lists[group])
    arenas->room &= ~bits(group - 1, 1);
}

static void set_slices(struct hwi_page *arena, uint64_t free_slices, uint64_t touched_slices)
{
  arena[HWI_BY_FREE].slices = free_slices;
  arena[HWI_BY_KEPT].slices = touched_slices;
  for (unsigned order = 0; order < HWI_ARENA_ORDERS; order++) {
    unsigned group = largest_group(slices_of(arena, (enum hwi_arena_order)order));
    if (group == arena[order].group)
      continue;
    unlink_arena(arena, (enum hwi_arena_order)order);
    link_arena(arena, (enum hwi_arena_order)order, group);
  }
}

/* --- arenas begin and end --- */

/* These slices are neither free nor used until a system call for them was made. */
static void make_pending(struct hwi_page *arena, unsigned first, unsigned count, bool is_coming)
{
  struct hw_heap *heap = arena->heap;
  struct hwi_page *page = arena + first;
  page->kind = HWI_PAGE_PENDING;
  page->slice_count = (uint8_t)count;
  page->is_coming = is_coming;
  for (unsigned i = 0; i < count; i++)
    page[i].back = (uint8_t)i;
  page->next = heap->pending_slices;
  heap->pending_slices = page;
}

void hwi_arena_settle(struct hwi_page *page)
{
  struct hwi_page *arena = hwi_unit_of(page);
  uint64_t slices = bits((unsigned)(page - arena), page->slice_count), touched = page->is_clean ? 0 : slices;
  page->kind = HWI_PAGE_NONE;
  arena->heap->kept_bytes += bytes_of(touched);
  set_slices(arena, hwi_free_slices(arena) | slices, hwi_touched_slices(arena) | touched);
}

static void begin_arena(struct hw_heap *heap, uintptr_t start, enum hwi_huge_pages pages)
{
  struct hwi_page *arena = hwi_slice_of((void *)start);
  bool is_coming = hwi_config_makes_present(&heap->config);
  hwi_unit_set_heap(arena, heap);
  __atomic_store_n(&arena->huge_pages, (uint8_t)pages, __ATOMIC_RELAXED);
  arena[HWI_BY_FREE].slices = is_coming ? 0 : ALL_SLICES;
  arena[HWI_BY_KEPT].slices = 0;
  link_arena(arena, HWI_BY_FREE, is_coming ? 0 : HWI_SLICES);
  link_arena(arena, HWI_BY_KEPT, 0);
  hwi_heap_count_mapped(heap, HWI_UNIT_BYTES);
  if (is_coming)
    make_pending(arena, 0, HWI_SLICES, true);
}

/* Returns how much is taken after so much, which may be less than arena_bytes. */
static size_t grown(const struct hw_heap *heap, size_t bytes)
{
  size_t more = bytes + bytes / 100 * heap->config.arena_growth_percent;
  size_t units = hwi_smaller(hwi_units_up(more), HWI_MOST_ARENA_BYTES);
  return units > heap->config.arena_bytes ? units : heap->config.arena_bytes;
}

/* Adds as many arenas as are taken at a time, or fewer if there is no memory for them. Returns false if there is
 * none. */
static bool add_arenas(struct hw_heap *heap)
{
  size_t bytes = heap->next_arena_bytes;
  enum hwi_huge_pages pages;
  uintptr_t start = hwi_heap_map_arena(heap, bytes, &pages);
  if (!start && bytes > heap->config.arena_bytes)
    start = hwi_heap_map_arena(heap, bytes = heap->config.arena_bytes, &pages);
  if (!start && bytes > HWI_UNIT_BYTES)
    start = hwi_heap_map_arena(heap, bytes = HWI_UNIT_BYTES, &pages);
  if (!start)
    return false;
  heap->next_arena_bytes = grown(heap, bytes);
  while (bytes)
    begin_arena(heap, start + (bytes -= HWI_UNIT_BYTES), pages);
  return true;
}

static void end_arena(struct hwi_page *arena)
{
  struct hw_heap *heap = arena->heap;
  for (unsigned order = 0; order < HWI_ARENA_ORDERS; order++)
    unlink_arena(arena, (enum hwi_arena_order)order);
  heap->mapped_bytes -= HWI_UNIT_BYTES;
  heap->kept_bytes -= bytes_of(slices_of(arena, HWI_BY_KEPT));
  for (unsigned i = 0; i < HWI_SLICES; i++) {
    arena[i].kind = HWI_PAGE_NONE;
    hwi_unit_set_heap(&arena[i], NULL);
    __atomic_store_n(&arena[i].thread, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&arena[i].owner, NULL, __ATOMIC_RELAXED);
  }
  arena->block_bytes = HWI_UNIT_BYTES;
  hwi_heap_unmap_later(heap, arena);
}

/* --- slices --- */

static struct hwi_page *take_from(struct hwi_page *arena, unsigned first, unsigned count)
{
  uint64_t slices = bits(first, count), touched = hwi_touched_slices(arena) & slices;
  struct hwi_page *page = arena + first;
  set_slices(arena, hwi_free_slices(arena) & ~slices, hwi_touched_slices(arena) | slices);
  size_t bytes = count * HWI_SLICE_BYTES, kept_bytes = bytes_of(touched);
  arena->heap->taken_bytes += bytes;
  hwi_heap_count_taken(arena->heap, kept_bytes, bytes - kept_bytes);
  if (page != arena)
    page->heap = arena->heap;
  page->slice_count = (uint8_t)count;
  page->is_clean = !touched;
  for (unsigned i = 0; i < count; i++)
    page[i].back = (uint8_t)i;
  return page;
}

/* Takes slices from the lowest one of a few arenas with room. */
static struct hwi_page *find_and_take(struct hw_heap *heap, unsigned slice_count, enum hwi_arena_order order)
{
  enum { MOST_LOOKED_AT = 16 };
  const struct hwi_arena_lists *arenas = &heap->arenas[order];
  struct hwi_page *best = NULL;
  int looked_at = 0;
  for (uint64_t room = arenas->room & ALL_SLICES << (slice_count - 1); room && looked_at < MOST_LOOKED_AT;
       room &= room - 1) {
    struct hwi_page *arena = arenas->lists[__builtin_ctzll(room) + 1];
    for (; arena && looked_at < MOST_LOOKED_AT; arena = arena[order].links.next, looked_at++)
      if (!best || arena < best)
        best = arena;
  }
  return best ? take_from(best, find(slices_of(best, order), slice_count), slice_count) : NULL;
}

struct hwi_page *hwi_arena_take(struct hw_heap *heap, unsigned slice_count, bool *is_coming)
{
  *is_coming = false;
  hwi_heap_collect_settled(heap);
  struct hwi_page *page = find_and_take(heap, slice_count, HWI_BY_KEPT);
  if (!page)
    page = find_and_take(heap, slice_count, HWI_BY_FREE);
  if (page || !add_arenas(heap))
    return page;
  *is_coming = hwi_config_makes_present(&heap->config);
  return find_and_take(heap, slice_count, HWI_BY_FREE);
}

void hwi_arena_give(struct hwi_page *page)
{
  struct hwi_page *arena = hwi_unit_of(page);
  struct hw_heap *heap = arena->heap;
  if (page->kind != HWI_PAGE_NONE)
    hwi_heap_count_page(heap, page->kind == HWI_PAGE_SMALL ? page->class_index : HW_HEAP_MOST_CLASSES, false);
  __atomic_store_n(&page->thread, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&page->owner, NULL, __ATOMIC_RELAXED);
  page->kind = HWI_PAGE_NONE;
  uint64_t slices = bits((unsigned)(page - arena), page->slice_count);
  set_slices(arena, hwi_free_slices(arena) | slices, hwi_touched_slices(arena));
  heap->taken_bytes -= bytes_of(slices);
  heap->kept_bytes += bytes_of(slices);
  hwi_heap_pass_by(heap);
}

bool hwi_arena_resize(struct hwi_page *page, unsigned slice_count)
{
  struct hwi_page *arena = hwi_unit_of(page);
  unsigned first = (unsigned)(page - arena), old_count = page->slice_count;
  if (slice_count > old_count) {
    uint64_t more = first + slice_count <= HWI_SLICES ? bits(first + old_count, slice_count - old_count) : 0;
    if (!more || (hwi_free_slices(arena) & more) != more)
      return false;
    take_from(arena, first + old_count, slice_count - old_count);
    page->slice_count = (uint8_t)slice_count;
    for (unsigned i = old_count; i < slice_count; i++)
      page[i].back = (uint8_t)i;
  } else if (slice_count < old_count) {
    page[slice_count].slice_count = (uint8_t)(old_count - slice_count);
    page->slice_count = (uint8_t)slice_count;
    hwi_arena_give(&page[slice_count]);
  }
  page->block_bytes = slice_count * HWI_SLICE_BYTES;
  return true;
}

/* --- back to the system --- */

/* Of reserved huge pages, no part goes back. */
static bool may_drop_from(const struct hwi_page *arena, bool is_for_small)
{
  enum hwi_huge_pages pages = hwi_huge_pages_of(arena);
  return pages != HWI_RESERVED_HUGE && !(is_for_small && pages == HWI_GETS_HUGE);
}

/* Returns the arena with the most adjoining kept slices that may go back, or NULL. */
static struct hwi_page *arena_to_drop_from(const struct hw_heap *heap, bool is_for_small)
{
  const struct hwi_arena_lists *arenas = &heap->arenas[HWI_BY_KEPT];
  unsigned group;
  for (uint64_t room = arenas->room; room; room &= ~bits(group - 1, 1)) {
    group = HWI_SLICES - (unsigned)__builtin_clzll(room);
    for (struct hwi_page *arena = arenas->lists[group]; arena; arena = arena[HWI_BY_KEPT].links.next)
      if (may_drop_from(arena, is_for_small))
        return arena;
  }
  return NULL;
}

void hwi_arena_drop_kept(struct hw_heap *heap, size_t most_bytes, bool is_for_small)
{
  struct hwi_page *arena;
  while (heap->kept_bytes > most_bytes && (arena = arena_to_drop_from(heap, is_for_small))) {
    unsigned group = arena[HWI_BY_KEPT].group;
    size_t too_many = (heap->kept_bytes - most_bytes + HWI_SLICE_BYTES - 1) / HWI_SLICE_BYTES;
    unsigned count = too_many < group ? (unsigned)too_many : group;
    unsigned first = find(slices_of(arena, HWI_BY_KEPT), group) + group - count; /* its beginning is taken next */
    uint64_t slices = bits(first, count);
    heap->kept_bytes -= bytes_of(slices);
    set_slices(arena, hwi_free_slices(arena) & ~slices, hwi_touched_slices(arena) & ~slices);
    make_pending(arena, first, count, false);
  }
}

void hwi_arena_unmap_free(struct hw_heap *heap, size_t most_bytes, size_t least_bytes)
{
  size_t staying_bytes = 0;
  for (struct hwi_page *arena = heap->arenas[HWI_BY_FREE].lists[HWI_SLICES], *next; arena; arena = next) {
    size_t kept_bytes = bytes_of(hwi_touched_slices(arena));
    size_t too_many = heap->kept_bytes > most_bytes ? heap->kept_bytes - most_bytes : 0;
    next = arena->links.next;
    if (staying_bytes >= least_bytes && kept_bytes <= too_many)
      end_arena(arena);
    else
      staying_bytes += HWI_UNIT_BYTES;
  }
  if (heap->taken_bytes == 0)
    heap->next_arena_bytes = heap->config.arena_bytes;
}

void hwi_arena_unmap_all(struct hw_heap *heap)
{
  for (unsigned group = 0; group <= HWI_SLICES; group++)
    while (heap->arenas[HWI_BY_FREE].lists[group])
      end_arena(heap->arenas[HWI_BY_FREE].lists[group]);
}
