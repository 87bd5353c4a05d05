/* arenas.c - arenas of a general heap: slices are taken, given back, and returned to the system */
#include "allocators/heap/layout.h"

#include "platform/os.h"
#include "platform/os_heap.h"

uint32_t hwi_arena_map[(size_t)1 << (HWI_ADDRESS_BITS - HWI_ARENA_BITS - HWI_MAP_BITS)];

/* The first slice is the descriptors'. */
static const uint64_t ALL_SLICES = ~(uint64_t)1;

static void mark(const struct hwi_arena *arena, bool is_arena)
{
  uintptr_t index = (uintptr_t)arena >> HWI_ARENA_BITS;
  uint32_t *word = &hwi_arena_map[index >> HWI_MAP_BITS], bit = 1u << (index & ((1u << HWI_MAP_BITS) - 1));
  if (is_arena)
    __atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
  else
    __atomic_fetch_and(word, ~bit, __ATOMIC_RELAXED);
}

void hwi_heap_count_mapped(struct hw_heap *heap, size_t bytes)
{
  heap->mapped_bytes += bytes;
  if (heap->mapped_bytes > heap->peak_mapped_bytes)
    heap->peak_mapped_bytes = heap->mapped_bytes;
}

/* Next to the newest arena if possible; otherwise twice as much is mapped, and what is not aligned is unmapped. */
static struct hwi_arena *map_arena(const struct hw_heap *heap)
{
  uintptr_t below = heap->arenas ? (uintptr_t)heap->arenas - HWI_ARENA_BYTES : 0;
  if (below && hwi_os_map_at((void *)below, HWI_ARENA_BYTES) == 0)
    return (struct hwi_arena *)below;
  uintptr_t start = (uintptr_t)hwi_os_map(2 * HWI_ARENA_BYTES);
  if (!start)
    return NULL;
  uintptr_t arena = (start + HWI_ARENA_BYTES - 1) & ~(HWI_ARENA_BYTES - 1);
  if (arena > start)
    hwi_os_unmap((void *)start, arena - start);
  if (start + HWI_ARENA_BYTES > arena)
    hwi_os_unmap((void *)(arena + HWI_ARENA_BYTES), start + HWI_ARENA_BYTES - arena);
  return (struct hwi_arena *)arena;
}

static struct hwi_arena *add_arena(struct hw_heap *heap)
{
  struct hwi_arena *arena = map_arena(heap);
  if (!arena)
    return NULL;
  arena->heap = heap;
  arena->next = heap->arenas;
  arena->free_slices = ALL_SLICES;
  heap->arenas = arena;
  hwi_heap_count_mapped(heap, HWI_ARENA_BYTES);
  mark(arena, true);
  return arena;
}

static uint64_t bits(unsigned first, unsigned count)
{
  return (((uint64_t)1 << count) - 1) << first;
}

/* Returns the first of `count` adjoining slices of the set, or 0 if there are none. */
static unsigned find(uint64_t set, unsigned count)
{
  for (unsigned i = 1; i < count; i++)
    set &= set >> 1;
  return set ? (unsigned)__builtin_ctzll(set) : 0;
}

static struct hwi_page *take_from(struct hwi_arena *arena, unsigned first, unsigned count)
{
  uint64_t taken = bits(first, count), touched = arena->touched_slices & taken;
  struct hwi_page *page = (struct hwi_page *)arena + first;
  arena->free_slices &= ~taken;
  arena->touched_slices |= taken;
  arena->heap->kept_bytes -= (size_t)__builtin_popcountll(touched) * HWI_SLICE_BYTES;
  page->slice_count = (uint8_t)count;
  page->is_clean = !touched;
  for (unsigned i = 0; i < count; i++)
    page[i].back = (uint8_t)i;
  return page;
}

/* Slices that are touched already come first. */
struct hwi_page *hwi_arena_take(struct hw_heap *heap, unsigned slice_count)
{
  unsigned first;
  for (struct hwi_arena *arena = heap->arenas; arena; arena = arena->next)
    if ((first = find(arena->free_slices & arena->touched_slices, slice_count)))
      return take_from(arena, first, slice_count);
  for (struct hwi_arena *arena = heap->arenas; arena; arena = arena->next)
    if ((first = find(arena->free_slices, slice_count)))
      return take_from(arena, first, slice_count);
  struct hwi_arena *arena = add_arena(heap);
  return arena ? take_from(arena, 1, slice_count) : NULL;
}

void hwi_arena_give(struct hwi_page *page)
{
  struct hwi_arena *arena = hwi_arena_of(page);
  struct hw_heap *heap = arena->heap;
  size_t bytes = page->slice_count * HWI_SLICE_BYTES;
  __atomic_store_n(&page->owner, NULL, __ATOMIC_RELAXED);
  page->block_bytes = 0;
  arena->free_slices |= bits((unsigned)(page - (struct hwi_page *)arena), page->slice_count);
  heap->kept_bytes += bytes;
  if (heap->kept_bytes > heap->config.keep_free_bytes)
    hwi_arena_trim(heap, heap->config.keep_free_bytes / 2);
}

/* Memory that the program has locked stays. */
static void drop_slices(struct hwi_arena *arena, size_t most_bytes)
{
  uint64_t set;
  while (arena->heap->kept_bytes > most_bytes && (set = arena->free_slices & arena->touched_slices)) {
    unsigned first = (unsigned)__builtin_ctzll(set), count = 1;
    while (first + count < HWI_SLICES && set >> (first + count) & 1)
      count++;
    if (hwi_os_drop_pages((char *)arena + first * HWI_SLICE_BYTES, count * HWI_SLICE_BYTES) != 0)
      return;
    arena->touched_slices &= ~bits(first, count);
    arena->heap->kept_bytes -= count * HWI_SLICE_BYTES;
  }
}

static void unmap_arena(struct hwi_arena *arena)
{
  arena->heap->mapped_bytes -= HWI_ARENA_BYTES;
  mark(arena, false);
  hwi_os_unmap(arena, HWI_ARENA_BYTES);
}

/* Of arenas without a page, one stays, so that the next page needs no new one. */
static void unmap_free_arenas(struct hw_heap *heap)
{
  bool has_one = false;
  for (struct hwi_arena **at = &heap->arenas; *at;) {
    struct hwi_arena *arena = *at;
    bool is_free = arena->free_slices == ALL_SLICES && !(arena->touched_slices & ALL_SLICES);
    if (is_free && has_one) {
      *at = arena->next;
      unmap_arena(arena);
    } else {
      has_one |= is_free;
      at = &arena->next;
    }
  }
}

void hwi_arena_trim(struct hw_heap *heap, size_t most_bytes)
{
  for (struct hwi_arena *arena = heap->arenas; arena && heap->kept_bytes > most_bytes; arena = arena->next)
    drop_slices(arena, most_bytes);
  unmap_free_arenas(heap);
}

void hwi_arena_unmap_all(struct hw_heap *heap)
{
  while (heap->arenas) {
    struct hwi_arena *arena = heap->arenas;
    heap->arenas = arena->next;
    unmap_arena(arena);
  }
}
