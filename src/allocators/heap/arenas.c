/* arenas.c - arenas of a general heap: slices are taken, given back, and returned to the system
 *
 * Free slices that are still in memory are kept for a while: returning memory and taking it again costs more than all
 * else here. Every 25 ms, when a thread gives a page, what was not needed since the last time goes back, except for a
 * share of the heap. What exceeds a larger share goes back at once, since perhaps no thread passes by later. The heap
 * learns from its mistakes: if half of what was returned is taken from the system again within a second, it was returned
 * too early, and the time and the larger share grow to four times as much, up to 800 ms and 1 GiB. They halve when memory
 * is returned and the last time was no mistake. So a program that goes up and down pays for that only at its beginning.
 */
#include "allocators/heap/layout.h"

#include "platform/os.h"
#include "platform/os_heap.h"

static const uint64_t ALL_SLICES = ~(uint64_t)0;

enum {
  LEAST_KEPT_BYTES = 2 << 20,
  KEPT_PART = 32, /* of what is mapped */
  LEAST_EXCESS_BYTES = 32 << 20,
  LEAST_EXCESS_OF_LARGE_BYTES = 2 << 20, /* of a heap that has had */
  LARGE_HEAP_BYTES = 256 << 20,
  EXCESS_PART = 4,
  NS_PER_MS = 1000000,
  SOON_MS = 1000,
  PATIENCE_STEP = 2,
  MOST_PATIENCE = 5, /* 32 times as much */
};

void hwi_heap_count_mapped(struct hw_heap *heap, size_t bytes)
{
  heap->mapped_bytes += bytes;
  if (heap->mapped_bytes > heap->peak_mapped_bytes)
    heap->peak_mapped_bytes = heap->mapped_bytes;
}

void hwi_heap_count_page(struct hw_heap *heap, size_t class_index, bool is_taken)
{
  uint32_t count = heap->page_counts[class_index] += is_taken ? 1u : -1u;
  if (count > heap->peak_page_counts[class_index])
    heap->peak_page_counts[class_index] = count;
}

static void begin_arena(struct hw_heap *heap, uintptr_t start)
{
  struct hwi_page *arena = hwi_slice_of((void *)start);
  arena->unit = (struct hwi_unit){.heap = heap, .next = heap->arenas, .free_slices = ALL_SLICES};
  if (hwi_config_makes_present(&heap->config)) {
    arena->unit.touched_slices = ALL_SLICES;
    heap->kept_bytes += HWI_UNIT_BYTES;
  }
  heap->arenas = arena;
  hwi_heap_count_mapped(heap, HWI_UNIT_BYTES);
}

/* Adds as many arenas as are taken at a time, or one if there is no memory for them. Returns the first one. */
static struct hwi_page *add_arenas(struct hw_heap *heap)
{
  size_t bytes = heap->config.arena_bytes;
  uintptr_t start = hwi_heap_map_arena(heap, bytes);
  if (!start && bytes > HWI_UNIT_BYTES)
    start = hwi_heap_map_arena(heap, bytes = HWI_UNIT_BYTES);
  if (!start)
    return NULL;
  while (bytes)
    begin_arena(heap, start + (bytes -= HWI_UNIT_BYTES));
  return heap->arenas;
}

static uint64_t bits(unsigned first, unsigned count)
{
  return (ALL_SLICES >> (HWI_SLICES - count)) << first;
}

void hwi_heap_take_kept(struct hw_heap *heap, size_t bytes)
{
  heap->kept_bytes -= bytes;
  if (heap->kept_bytes < heap->least_kept_bytes)
    heap->least_kept_bytes = heap->kept_bytes;
}

enum { NOT_FOUND = HWI_SLICES };

/* Returns the first of `count` adjoining slices of the set. A bit that stays is the first of `found` slices. */
static unsigned find(uint64_t set, unsigned count)
{
  for (unsigned found = 1, more; found < count; found += more) {
    more = count - found < found ? count - found : found;
    set &= set >> more;
  }
  return set ? (unsigned)__builtin_ctzll(set) : NOT_FOUND;
}

static struct hwi_page *take_from(struct hwi_page *arena, unsigned first, unsigned count)
{
  struct hwi_unit *unit = &arena->unit;
  uint64_t slices = bits(first, count), touched = unit->touched_slices & slices;
  struct hwi_page *page = arena + first;
  unit->free_slices &= ~slices;
  unit->touched_slices |= slices;
  hwi_heap_take_kept(unit->heap, (size_t)__builtin_popcountll(touched) * HWI_SLICE_BYTES);
  unit->heap->taken_bytes += count * HWI_SLICE_BYTES;
  unit->heap->new_bytes += (size_t)__builtin_popcountll(slices & ~touched) * HWI_SLICE_BYTES;
  page->slice_count = (uint8_t)count;
  page->is_clean = !touched;
  for (unsigned i = 0; i < count; i++)
    page[i].back = (uint8_t)i;
  return page;
}

/* Of a few arenas with room, the fullest one is used, so that others become free. It becomes the first one of the list. */
static struct hwi_page *find_and_take(struct hw_heap *heap, unsigned slice_count, bool must_be_touched)
{
  enum { MOST_LOOKED_AT = 16 };
  struct hwi_page **best = NULL, *arena;
  unsigned best_first = 0, looked_at = 0;
  int least = HWI_SLICES + 1;
  for (struct hwi_page **at = &heap->arenas; (arena = *at) && looked_at < MOST_LOOKED_AT; at = &arena->unit.next) {
    uint64_t untouched = must_be_touched ? ~arena->unit.touched_slices : 0;
    unsigned first = find(arena->unit.free_slices & ~untouched, slice_count);
    int free_count = __builtin_popcountll(arena->unit.free_slices);
    if (first == NOT_FOUND)
      continue;
    looked_at++;
    if (free_count >= least)
      continue;
    best = at;
    best_first = first;
    least = free_count;
  }
  if (!best)
    return NULL;
  arena = *best;
  *best = arena->unit.next;
  arena->unit.next = heap->arenas;
  heap->arenas = arena;
  return take_from(arena, best_first, slice_count);
}

/* Slices that are touched already come first. */
struct hwi_page *hwi_arena_take(struct hw_heap *heap, unsigned slice_count)
{
  struct hwi_page *page = heap->kept_bytes ? find_and_take(heap, slice_count, true) : NULL;
  if (!page)
    page = find_and_take(heap, slice_count, false);
  if (page)
    return page;
  struct hwi_page *arena = add_arenas(heap);
  return arena ? take_from(arena, 0, slice_count) : NULL;
}

void hwi_arena_give(struct hwi_page *page)
{
  struct hwi_page *arena = hwi_unit_of(page);
  struct hw_heap *heap = arena->unit.heap;
  if (page->kind != HWI_PAGE_NONE)
    hwi_heap_count_page(heap, page->kind == HWI_PAGE_SMALL ? page->class_index : HW_HEAP_MOST_CLASSES, false);
  __atomic_store_n(&page->thread, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&page->owner, NULL, __ATOMIC_RELAXED);
  page->kind = HWI_PAGE_NONE;
  arena->unit.free_slices |= bits((unsigned)(page - arena), page->slice_count);
  heap->taken_bytes -= page->slice_count * HWI_SLICE_BYTES;
  heap->kept_bytes += page->slice_count * HWI_SLICE_BYTES;
  hwi_heap_pass_by(heap);
}

bool hwi_arena_resize(struct hwi_page *page, unsigned slice_count)
{
  struct hwi_page *arena = hwi_unit_of(page);
  unsigned first = (unsigned)(page - arena), old_count = page->slice_count;
  if (slice_count > old_count) {
    uint64_t more = first + slice_count <= HWI_SLICES ? bits(first + old_count, slice_count - old_count) : 0;
    if (!more || (arena->unit.free_slices & more) != more)
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

/* Memory that is locked stays, as do huge pages that are reserved. */
static void drop_slices(struct hwi_page *arena, size_t most_bytes)
{
  struct hwi_unit *unit = &arena->unit;
  uint64_t set;
  while (unit->heap->kept_bytes > most_bytes && (set = unit->free_slices & unit->touched_slices)) {
    unsigned first = (unsigned)__builtin_ctzll(set), count = 1;
    while (first + count < HWI_SLICES && set >> (first + count) & 1)
      count++;
    if (hwi_os_drop_pages((void *)hwi_page_start(arena + first), count * HWI_SLICE_BYTES) != 0)
      return;
    unit->touched_slices &= ~bits(first, count);
    unit->heap->kept_bytes -= count * HWI_SLICE_BYTES;
  }
}

static void unmap_arena(struct hwi_page *arena)
{
  struct hw_heap *heap = arena->unit.heap;
  heap->mapped_bytes -= HWI_UNIT_BYTES;
  arena->unit = (struct hwi_unit){0};
  for (unsigned i = 0; i < HWI_SLICES; i++) {
    arena[i].kind = HWI_PAGE_NONE;
    __atomic_store_n(&arena[i].thread, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&arena[i].owner, NULL, __ATOMIC_RELAXED);
  }
  hwi_space_give(hwi_page_start(arena), HWI_UNIT_BYTES);
}

/* Of arenas without a page, as many as are taken at a time stay, so that the next page needs no new ones. Memory that could
 * not be dropped can be unmapped. */
static void unmap_free_arenas(struct hw_heap *heap, size_t most_bytes)
{
  size_t staying_bytes = 0;
  for (struct hwi_page **at = &heap->arenas; *at;) {
    struct hwi_page *arena = *at;
    bool is_free = arena->unit.free_slices == ALL_SLICES;
    if (is_free && staying_bytes >= heap->config.arena_bytes &&
        (!arena->unit.touched_slices || heap->kept_bytes > most_bytes)) {
      *at = arena->unit.next;
      heap->kept_bytes -= (size_t)__builtin_popcountll(arena->unit.touched_slices) * HWI_SLICE_BYTES;
      unmap_arena(arena);
    } else {
      staying_bytes += is_free ? HWI_UNIT_BYTES : 0;
      at = &arena->unit.next;
    }
  }
}

void hwi_heap_trim(struct hw_heap *heap, size_t most_bytes)
{
  hwi_large_drop_cached(heap, most_bytes);
  for (struct hwi_page *arena = heap->arenas; arena && heap->kept_bytes > most_bytes; arena = arena->unit.next)
    drop_slices(arena, most_bytes);
  unmap_free_arenas(heap, most_bytes);
}

static size_t larger(size_t a, size_t b)
{
  return a > b ? a : b;
}

/* Returns how much free memory may be kept for any time. */
static size_t most_kept_bytes(const struct hw_heap *heap)
{
  switch (heap->config.returns) {
  case HW_HEAP_RETURNS_AT_ONCE:
    return 0;
  case HW_HEAP_RETURNS_ON_COLLECT:
    return SIZE_MAX;
  default:
    return heap->config.keep_free_bytes ? heap->config.keep_free_bytes
                                        : larger(LEAST_KEPT_BYTES, heap->mapped_bytes / KEPT_PART);
  }
}

static unsigned smaller(unsigned a, unsigned b)
{
  return a < b ? a : b;
}

/* Before memory is returned: was the last return right? */
static void learn(struct hw_heap *heap, uint64_t now)
{
  bool is_soon = now - heap->returned_ns < (uint64_t)SOON_MS * NS_PER_MS;
  bool was_wrong = is_soon && heap->returned_bytes && heap->new_bytes >= heap->returned_bytes / 2;
  if (was_wrong)
    heap->patience = smaller(heap->patience + PATIENCE_STEP, MOST_PATIENCE);
  else if (!is_soon && heap->patience > 0)
    heap->patience--;
  if (was_wrong || !is_soon)
    heap->returned_bytes = 0;
  if (heap->returned_bytes == 0)
    heap->new_bytes = 0;
}

static bool is_old(const struct hw_heap *heap, uint64_t now)
{
  return now - heap->excess_since_ns >= (uint64_t)heap->config.return_after_ms * NS_PER_MS << heap->patience;
}

/* Of a heap that was large, and is small now, no more is kept than of its size: it may never be needed again, and then no
 * thread passes by. */
static size_t most_excess_bytes(const struct hw_heap *heap)
{
  size_t least = heap->peak_mapped_bytes < LARGE_HEAP_BYTES ? LEAST_EXCESS_BYTES : LEAST_EXCESS_OF_LARGE_BYTES;
  return larger(least, (heap->taken_bytes + heap->large_bytes) / EXCESS_PART) << heap->patience;
}

/* Returns how much of the kept memory stays; `most` needs no reason. */
static size_t bytes_to_keep(const struct hw_heap *heap, size_t most, uint64_t now)
{
  size_t excess = most_excess_bytes(heap);
  if (heap->kept_bytes - most > excess)
    return most + excess / 2;
  size_t unneeded = heap->least_kept_bytes > most ? heap->least_kept_bytes - most : 0;
  return is_old(heap, now) ? heap->kept_bytes - unneeded : heap->kept_bytes;
}

static void return_kept(struct hw_heap *heap, size_t most_bytes, uint64_t now)
{
  size_t before = heap->kept_bytes;
  hwi_heap_trim(heap, most_bytes);
  heap->returned_bytes += before - heap->kept_bytes;
  heap->returned_ns = now;
}

void hwi_heap_pass_by(struct hw_heap *heap)
{
  size_t most = most_kept_bytes(heap);
  if (heap->kept_bytes <= most)
    return;
  if (heap->config.returns != HW_HEAP_RETURNS_LATER) {
    hwi_heap_trim(heap, most);
    return;
  }
  uint64_t now = hwi_os_monotonic_ns();
  if (bytes_to_keep(heap, most, now) < heap->kept_bytes)
    learn(heap, now);
  size_t keep = bytes_to_keep(heap, most, now);
  bool is_less = keep < heap->kept_bytes;
  if (is_less)
    return_kept(heap, keep, now);
  if (is_less || is_old(heap, now)) {
    heap->excess_since_ns = now;
    heap->least_kept_bytes = heap->kept_bytes;
  }
}

void hwi_arena_unmap_all(struct hw_heap *heap)
{
  while (heap->arenas) {
    struct hwi_page *arena = heap->arenas;
    heap->arenas = arena->unit.next;
    unmap_arena(arena);
  }
}
