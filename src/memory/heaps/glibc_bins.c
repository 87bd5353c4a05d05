/* glibc_bins.c - checks the lists of free chunks of glibc's malloc
 *
 * Which chunks are free, the walk knows from their flags; a list is only checked. Each chunk must refer back to the one before
 * it: a chunk that does not was written to. Since each has one before it, a list whose links back are right has an end.
 */
#include "memory/heaps/glibc.h"

static bool is_in_heap(const struct hwi_glibc *glibc, uint64_t chunk)
{
  const struct hwi_region *region = hwi_memory_region(glibc->memory, chunk);
  return hwi_glibc_align(glibc, chunk) == chunk && region && region->is_writable;
}

static bool has_sound_size(struct hwi_glibc *glibc, uint64_t chunk)
{
  uint64_t size;
  return hwi_glibc_size(glibc, chunk, &size) && hwi_glibc_size_is_sound(glibc, size);
}

/* Returns the chunk of the list that was written to, or 0. What is not in the image is not checked. */
static uint64_t find_damaged(struct hwi_glibc *glibc, uint64_t bin)
{
  const unsigned header = glibc->sizes.header, word = glibc->sizes.word;
  uint64_t next, back;
  for (uint64_t at = bin; hwi_memory_word(&glibc->reader, at + header, &next); at = next) {
    const uint64_t nearest = at == bin ? next : at;
    if (next != bin && !is_in_heap(glibc, next))
      return nearest;
    if (!hwi_memory_word(&glibc->reader, next + header + word, &back))
      return 0;
    if (back != at)
      return next != bin && has_sound_size(glibc, next) ? next : nearest;
    if (next == bin)
      return 0;
  }
  return 0;
}

void hwi_glibc_check_bins(struct hwi_glibc *glibc, struct hwi_core_heap *heap)
{
  for (size_t i = 0; i < glibc->arena_count; i++) {
    const struct hwi_glibc_arena *arena = &glibc->arenas[i];
    for (unsigned k = 0; k < HWI_GLIBC_BINS && !hwi_glibc_is_in_use(glibc, arena); k++) {
      const uint64_t bin = arena->bins + k * 2 * glibc->sizes.word - glibc->sizes.header;
      const uint64_t chunk = find_damaged(glibc, bin);
      if (chunk)
        hwi_core_heap_note_damage(
            heap, chunk, "the links of the free chunk here cannot be right: it was written to after it was freed");
    }
  }
}
