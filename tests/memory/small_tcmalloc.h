/* small_tcmalloc.h - for the tests: the memory of a process with a small heap of tcmalloc
 *
 * It has a span with blocks of 64 bytes, a large block, a free page, and two pages that were returned to the kernel.
 */
#ifndef HW_TESTS_MEMORY_SMALL_TCMALLOC_H
#define HW_TESTS_MEMORY_SMALL_TCMALLOC_H

#include <stdint.h>
#include <string.h>

#include "memory/image/memory.h"

enum {
  SMALL_TCMALLOC_PAGE = 8192,
  SMALL_TCMALLOC_HEAP = 0x100000,
  SMALL_TCMALLOC_NODES = 0x20000000,
  SMALL_TCMALLOC_DATA = 0x40000000, /* of the library */
  SMALL_TCMALLOC_CODE = 0x50000000,
  SMALL_TCMALLOC_HEAP_BYTES = 6 * SMALL_TCMALLOC_PAGE,
  SMALL_TCMALLOC_NODES_BYTES = SMALL_TCMALLOC_PAGE,
  SMALL_TCMALLOC_DATA_BYTES = 4 * SMALL_TCMALLOC_PAGE,
  SMALL_TCMALLOC_CODE_BYTES = SMALL_TCMALLOC_PAGE,
  SMALL_TCMALLOC_BYTES =
      SMALL_TCMALLOC_HEAP_BYTES + SMALL_TCMALLOC_NODES_BYTES + SMALL_TCMALLOC_DATA_BYTES + SMALL_TCMALLOC_CODE_BYTES,
  SMALL_TCMALLOC_REGIONS = 4,

  SMALL_TCMALLOC_BLOCK_BYTES = 64,
  SMALL_TCMALLOC_BLOCKS =
      SMALL_TCMALLOC_PAGE / SMALL_TCMALLOC_BLOCK_BYTES, /* two live, a thread's, a central list's; free */
  SMALL_TCMALLOC_USED = 4,
  SMALL_TCMALLOC_OF_THREAD = SMALL_TCMALLOC_HEAP + 2 * SMALL_TCMALLOC_BLOCK_BYTES,
  SMALL_TCMALLOC_OF_CENTRAL = SMALL_TCMALLOC_HEAP + 3 * SMALL_TCMALLOC_BLOCK_BYTES,
  SMALL_TCMALLOC_FREE_BLOCK = SMALL_TCMALLOC_HEAP + 4 * SMALL_TCMALLOC_BLOCK_BYTES,
  SMALL_TCMALLOC_LARGE = SMALL_TCMALLOC_HEAP + SMALL_TCMALLOC_PAGE, /* two pages */
  SMALL_TCMALLOC_FREE = SMALL_TCMALLOC_LARGE + 2 * SMALL_TCMALLOC_PAGE,
  SMALL_TCMALLOC_RETURNED = SMALL_TCMALLOC_FREE + SMALL_TCMALLOC_PAGE,

  SMALL_TCMALLOC_SPAN = SMALL_TCMALLOC_NODES + 0x100, /* the description of the first span; the others follow */
  SMALL_TCMALLOC_SPAN_BYTES = 48,
  SMALL_TCMALLOC_LISTS = SMALL_TCMALLOC_NODES + 0x400, /* of a thread */
  SMALL_TCMALLOC_LEAF = SMALL_TCMALLOC_NODES + 0x1000,
  SMALL_TCMALLOC_TABLE = SMALL_TCMALLOC_DATA + 0x40, /* of a class */
  SMALL_TCMALLOC_CLASSES = SMALL_TCMALLOC_DATA + 0x100,
  SMALL_TCMALLOC_CLASS_COUNT = 16,
  SMALL_TCMALLOC_CLASS = 5, /* of 64 bytes */
  SMALL_TCMALLOC_CENTRAL = SMALL_TCMALLOC_DATA + 0x1000,
  SMALL_TCMALLOC_CENTRAL_BYTES = 1216,
  SMALL_TCMALLOC_ROOT = SMALL_TCMALLOC_DATA + SMALL_TCMALLOC_DATA_BYTES - 8, /* its first word */
};

struct small_tcmalloc {
  uint8_t bytes[SMALL_TCMALLOC_BYTES];
  struct hwi_region regions[SMALL_TCMALLOC_REGIONS];
  struct hwi_memory memory;
  unsigned spans;
};

static void small_tcmalloc_put_bytes(struct small_tcmalloc *small, uint64_t address, const void *bytes, size_t count)
{
  for (size_t i = 0; i < SMALL_TCMALLOC_REGIONS; i++)
    if (hwi_region_has(&small->regions[i], address, count))
      memcpy(small->bytes + (small->regions[i].bytes - small->bytes) + (address - small->regions[i].begin), bytes,
             count);
}

static void small_tcmalloc_put(struct small_tcmalloc *small, uint64_t address, uint64_t word)
{
  small_tcmalloc_put_bytes(small, address, &word, sizeof word);
}

static void small_tcmalloc_put_32(struct small_tcmalloc *small, uint64_t address, uint32_t number)
{
  small_tcmalloc_put_bytes(small, address, &number, sizeof number);
}

static void small_tcmalloc_span(struct small_tcmalloc *small, uint64_t address, uint64_t pages, uint64_t list,
                                uint32_t bits)
{
  const uint64_t at = SMALL_TCMALLOC_SPAN + (uint64_t)small->spans++ * SMALL_TCMALLOC_SPAN_BYTES;
  const uint64_t page = address / SMALL_TCMALLOC_PAGE;
  small_tcmalloc_put(small, at, page);
  small_tcmalloc_put(small, at + 8, pages);
  small_tcmalloc_put(small, at + 32, list);
  small_tcmalloc_put_32(small, at + 40, bits);
  small_tcmalloc_put(small, SMALL_TCMALLOC_LEAF + page * 8, at);
  small_tcmalloc_put(small, SMALL_TCMALLOC_LEAF + (page + pages - 1) * 8, at);
}

static void small_tcmalloc_lists(struct small_tcmalloc *small)
{
  enum { PAGES = SMALL_TCMALLOC_CLASSES + 512, CHAINS = 128, COUNT = 1152 };
  const uint64_t central = SMALL_TCMALLOC_CENTRAL + SMALL_TCMALLOC_CLASS * SMALL_TCMALLOC_CENTRAL_BYTES;
  for (uint32_t i = 1; i < SMALL_TCMALLOC_CLASS_COUNT; i++) {
    const uint32_t size = i == 1 ? 8 : (i - 1) * 16;
    small_tcmalloc_put_32(small, SMALL_TCMALLOC_CLASSES + i * 4, size);
    small_tcmalloc_put(small, PAGES + i * 8, 1);
    small_tcmalloc_put(small, SMALL_TCMALLOC_CENTRAL + i * SMALL_TCMALLOC_CENTRAL_BYTES + 8, i);
    small_tcmalloc_put_32(small, SMALL_TCMALLOC_LISTS + i * 32 + 24, size);
  }
  small_tcmalloc_put(small, SMALL_TCMALLOC_LISTS + SMALL_TCMALLOC_CLASS * 32, SMALL_TCMALLOC_OF_THREAD);
  small_tcmalloc_put_32(small, SMALL_TCMALLOC_LISTS + SMALL_TCMALLOC_CLASS * 32 + 8, 1);
  small_tcmalloc_put(small, central + 80, SMALL_TCMALLOC_SPAN); /* with free blocks */
  small_tcmalloc_put(small, central + CHAINS, SMALL_TCMALLOC_OF_CENTRAL);
  small_tcmalloc_put(small, central + CHAINS + 8, SMALL_TCMALLOC_OF_CENTRAL);
  small_tcmalloc_put_32(small, central + COUNT, 1);
}

static void small_tcmalloc_fill(struct small_tcmalloc *small)
{
  enum { CLASS_SHIFT = 16, PLACE_SHIFT = 24, PLACE_FREE = 1, PLACE_RETURNED = 2 };
  small_tcmalloc_put(small, SMALL_TCMALLOC_ROOT, SMALL_TCMALLOC_LEAF);
  small_tcmalloc_span(small, SMALL_TCMALLOC_HEAP, 1, SMALL_TCMALLOC_FREE_BLOCK,
                      SMALL_TCMALLOC_USED | SMALL_TCMALLOC_CLASS << CLASS_SHIFT);
  small_tcmalloc_span(small, SMALL_TCMALLOC_LARGE, 2, 0, 1);
  small_tcmalloc_span(small, SMALL_TCMALLOC_FREE, 1, 0, PLACE_FREE << PLACE_SHIFT);
  small_tcmalloc_span(small, SMALL_TCMALLOC_RETURNED, 2, 0, PLACE_RETURNED << PLACE_SHIFT);
  for (uint64_t i = SMALL_TCMALLOC_USED; i + 1 < SMALL_TCMALLOC_BLOCKS; i++)
    small_tcmalloc_put(small, SMALL_TCMALLOC_HEAP + i * SMALL_TCMALLOC_BLOCK_BYTES,
                       SMALL_TCMALLOC_HEAP + (i + 1) * SMALL_TCMALLOC_BLOCK_BYTES);
  small_tcmalloc_lists(small);
}

static void small_tcmalloc_region(struct small_tcmalloc *small, uint64_t begin, uint64_t bytes, const char *file)
{
  const struct hwi_region *last = small->memory.region_count ? &small->regions[small->memory.region_count - 1] : NULL;
  small->regions[small->memory.region_count++] =
      (struct hwi_region){.begin = begin,
                          .end = begin + bytes,
                          .bytes = last ? last->bytes + last->known : small->bytes,
                          .known = bytes,
                          .is_writable = true,
                          .file = file};
}

/* `small` stays the owner of the memory, which must not be closed. */
static void small_tcmalloc_make(struct small_tcmalloc *small)
{
  memset(small, 0, sizeof *small);
  small->memory = (struct hwi_memory){.regions = small->regions, .word_bytes = sizeof(uint64_t)};
  small_tcmalloc_region(small, SMALL_TCMALLOC_HEAP, SMALL_TCMALLOC_HEAP_BYTES, NULL);
  small_tcmalloc_region(small, SMALL_TCMALLOC_NODES, SMALL_TCMALLOC_NODES_BYTES, NULL);
  small_tcmalloc_region(small, SMALL_TCMALLOC_DATA, SMALL_TCMALLOC_DATA_BYTES, "/lib/libtcmalloc.so.4");
  small_tcmalloc_region(small, SMALL_TCMALLOC_CODE, SMALL_TCMALLOC_CODE_BYTES, "/lib/libtcmalloc.so.4");
  small->regions[SMALL_TCMALLOC_REGIONS - 1].is_writable = false;
  small->regions[SMALL_TCMALLOC_REGIONS - 1].is_executable = true;
  small_tcmalloc_fill(small);
}

#endif
