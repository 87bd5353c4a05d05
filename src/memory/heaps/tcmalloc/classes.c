/* classes.c - finds tcmalloc's list of size classes
 *
 * It has a place for 128 sizes, of 4 bytes each, which grow from 0, 8, 16 on; the rest is 0. A list with the pages of their spans
 * follows, in words.
 */
#include "memory/heaps/tcmalloc/tcmalloc.h"

enum { SIZE_BYTES = 4, WORD = 8 };

/* Reads the sizes. Returns how many there are; 0: this is no such list. */
static unsigned read_sizes(struct hwi_tcmalloc *tcmalloc, uint64_t at)
{
  enum { ALIGNMENT = 8, FIRST = 8, CLASSES_LEAST = 16 };
  unsigned count = 0;
  for (unsigned i = 0; i < HWI_TCMALLOC_CLASSES; i++) {
    uint32_t *size = &tcmalloc->sizes[i];
    if (!hwi_tcmalloc_read_32(tcmalloc, at + i * SIZE_BYTES, size) || *size % ALIGNMENT ||
        (*size && (i != count || i == 0 || *size <= size[-1])) || (i == 1 && *size != FIRST))
      return 0;
    count += *size || i == 0;
  }
  return count < CLASSES_LEAST ? 0 : count;
}

static bool read_pages(struct hwi_tcmalloc *tcmalloc, uint64_t at)
{
  const uint64_t pages = (at + HWI_TCMALLOC_CLASSES * SIZE_BYTES + WORD - 1) / WORD * WORD;
  for (unsigned i = 0; i < tcmalloc->class_count; i++)
    if (!hwi_memory_word(&tcmalloc->reader, pages + i * WORD, &tcmalloc->pages[i]) ||
        tcmalloc->pages[i] > HWI_TCMALLOC_CLASS_PAGES_MOST ||
        tcmalloc->pages[i] * HWI_TCMALLOC_PAGE_BYTES < tcmalloc->sizes[i])
      return false;
  return true;
}

static bool search_region(struct hwi_tcmalloc *tcmalloc, const struct hwi_region *region)
{
  for (uint64_t off = 0; off + 2 * SIZE_BYTES <= region->known; off += SIZE_BYTES) {
    const unsigned char *bytes = region->bytes + off;
    if (hwi_memory_load_32(tcmalloc->memory, bytes) == 0 &&
        hwi_memory_load_32(tcmalloc->memory, bytes + SIZE_BYTES) == 8) {
      tcmalloc->classes = region->begin + off;
      tcmalloc->class_count = read_sizes(tcmalloc, tcmalloc->classes);
      if (tcmalloc->class_count && read_pages(tcmalloc, tcmalloc->classes))
        return true;
    }
  }
  return false;
}

bool hwi_tcmalloc_find_classes(struct hwi_tcmalloc *tcmalloc)
{
  const struct hwi_memory *memory = tcmalloc->memory;
  const bool knows_files = hwi_memory_knows_files(memory);
  for (size_t i = 0; i < memory->region_count; i++)
    if (hwi_memory_is_data(memory, i, knows_files) && search_region(tcmalloc, &memory->regions[i]))
      return true;
  return false;
}
