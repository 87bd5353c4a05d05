/* glibc_settings.c - finds the settings of glibc's malloc: where its heap began, and how many chunks are mapped alone
 *
 * They are in the library's data, next to the main arena. They are recognized by the limit on mapped chunks, or, if the
 * program has changed it, by where the heap began, and by what is around: how many chunks are mapped, the limit, how many
 * were mapped at most, a flag; then their bytes, the most bytes, and where the heap began.
 */
#include "memory/heaps/glibc.h"

enum { MAPPED_MAX_DEFAULT = 65536, INT_BYTES = 4 };

/* Offsets from the limit, in a version with `pad` bytes behind the flag. */
struct place {
  uint64_t at;
  unsigned pad;
};

static bool read_int(struct hwi_glibc *glibc, uint64_t address, uint64_t *number)
{
  const unsigned char *bytes = hwi_memory_bytes(&glibc->reader, address, INT_BYTES);
  if (bytes)
    *number = hwi_memory_load_32(glibc->memory, bytes);
  return bytes;
}

/* Returns whether the heap can have begun there: with a chunk, before which there is none. */
static bool is_start(struct hwi_glibc *glibc, uint64_t address)
{
  uint64_t size;
  const uint64_t chunk = hwi_glibc_align(glibc, address);
  const struct hwi_region *region = hwi_memory_region(glibc->memory, address);
  return region && region->is_writable && !region->file && hwi_glibc_size(glibc, chunk, &size) &&
         hwi_glibc_size_is_sound(glibc, size) && (size & HWI_GLIBC_FLAGS) == HWI_GLIBC_PREVIOUS_IN_USE;
}

/* Returns whether the main arena has grown from there to the end of its top chunk, without a break. */
static bool is_whole(struct hwi_glibc *glibc, uint64_t first)
{
  const struct hwi_glibc_arena *arena = &glibc->arenas[0];
  uint64_t size;
  return hwi_glibc_size(glibc, arena->top, &size) &&
         arena->top + (size & ~(uint64_t)HWI_GLIBC_FLAGS) - first == arena->system_bytes;
}

/* The settings are not within the main arena. */
static bool is_in_arena(const struct hwi_glibc *glibc, uint64_t address)
{
  const struct hwi_glibc_arena *arena = &glibc->arenas[0];
  return address >= arena->address && address < arena->bins + HWI_GLIBC_BINS * 2 * glibc->sizes.word;
}

static bool read_at(struct hwi_glibc *glibc, const struct place *place)
{
  const unsigned word = glibc->sizes.word;
  const uint64_t behind = place->at + 3 * INT_BYTES + place->pad;
  uint64_t count, limit, most_count, flag, bytes, most_bytes, first;
  if (behind % word != 0 || is_in_arena(glibc, place->at) || !read_int(glibc, place->at - INT_BYTES, &count) ||
      !read_int(glibc, place->at, &limit) || !read_int(glibc, place->at + INT_BYTES, &most_count) ||
      !read_int(glibc, place->at + 2 * INT_BYTES, &flag) || !hwi_memory_word(&glibc->reader, behind, &bytes) ||
      !hwi_memory_word(&glibc->reader, behind + word, &most_bytes) ||
      !hwi_memory_word(&glibc->reader, behind + 2 * word, &first))
    return false;
  if (count > most_count || most_count > INT32_MAX || flag > 1 || bytes > most_bytes ||
      bytes % HWI_MEMORY_PAGE_BYTES != 0 || bytes / HWI_MEMORY_PAGE_BYTES < count || !bytes != !count)
    return false;
  if ((first && !is_start(glibc, first)) || (limit != MAPPED_MAX_DEFAULT && !is_whole(glibc, first)))
    return false;
  glibc->settings = (struct hwi_glibc_settings){true, first, count, bytes};
  return true;
}

void hwi_glibc_find_settings(struct hwi_glibc *glibc)
{
  const struct hwi_region *region = hwi_memory_region(glibc->memory, glibc->arenas[0].address);
  for (uint64_t off = INT_BYTES; region && off + INT_BYTES <= region->known; off += INT_BYTES)
    for (unsigned pad = 0; pad <= INT_BYTES; pad += INT_BYTES)
      if (read_at(glibc, &(struct place){region->begin + off, pad}))
        return;
}
