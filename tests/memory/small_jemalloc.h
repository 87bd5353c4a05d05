/* small_jemalloc.h - for the tests: the memory of a process with a small heap of jemalloc, in one of the two shapes of its tree
 *
 * It has two slabs, one large block, free pages and retained ones, and one tcache, whose stacks are in the second slab.
 */
#ifndef HW_TESTS_MEMORY_SMALL_JEMALLOC_H
#define HW_TESTS_MEMORY_SMALL_JEMALLOC_H

#include <stdint.h>
#include <string.h>

#include "memory/image/memory.h"

enum {
  SMALL_JEMALLOC_PAGE = 4096,
  SMALL_JEMALLOC_DATA = 0x40000000, /* of the library */
  SMALL_JEMALLOC_BASE = 0x20000000,
  SMALL_JEMALLOC_NODES = 0x20800000, /* another base */
  SMALL_JEMALLOC_HEAP = 0x100000,
  SMALL_JEMALLOC_DATA_BYTES = 2 * SMALL_JEMALLOC_PAGE,
  SMALL_JEMALLOC_BASE_BYTES = 3 * SMALL_JEMALLOC_PAGE,
  SMALL_JEMALLOC_NODES_BYTES = 128,
  SMALL_JEMALLOC_BASE_SYSTEM_BYTES = 1 << 21, /* of each of the two */
  SMALL_JEMALLOC_HEAP_BYTES = 16 * SMALL_JEMALLOC_PAGE,
  SMALL_JEMALLOC_BYTES =
      SMALL_JEMALLOC_DATA_BYTES + SMALL_JEMALLOC_BASE_BYTES + SMALL_JEMALLOC_NODES_BYTES + SMALL_JEMALLOC_HEAP_BYTES,
  SMALL_JEMALLOC_REGIONS = 4,

  SMALL_JEMALLOC_SLAB =
      SMALL_JEMALLOC_HEAP, /* the first three blocks of 64 bytes are used; the third is in the tcache */
  SMALL_JEMALLOC_STACKS = SMALL_JEMALLOC_SLAB + SMALL_JEMALLOC_PAGE, /* a slab with blocks of 512 bytes */
  SMALL_JEMALLOC_LARGE_PAGE = SMALL_JEMALLOC_STACKS + SMALL_JEMALLOC_PAGE,
  SMALL_JEMALLOC_LARGE = SMALL_JEMALLOC_LARGE_PAGE + 64, /* 16384 bytes in five pages */
  SMALL_JEMALLOC_DIRTY = SMALL_JEMALLOC_LARGE_PAGE + 5 * SMALL_JEMALLOC_PAGE,
  SMALL_JEMALLOC_RETAINED = SMALL_JEMALLOC_DIRTY + 2 * SMALL_JEMALLOC_PAGE,

  SMALL_JEMALLOC_LEAF = SMALL_JEMALLOC_BASE + 0x1000,
  SMALL_JEMALLOC_NODE = SMALL_JEMALLOC_NODES + 0x40,       /* if there are three levels */
  SMALL_JEMALLOC_DESCRIPTION = SMALL_JEMALLOC_BASE + 0x80, /* of the first extent; the others follow */
  SMALL_JEMALLOC_DESCRIPTION_BYTES = 128,
  SMALL_JEMALLOC_ROOT = SMALL_JEMALLOC_DATA + SMALL_JEMALLOC_DATA_BYTES - 8, /* its first word */
  SMALL_JEMALLOC_SLOW = SMALL_JEMALLOC_DATA + 0x400,
  SMALL_JEMALLOC_TCACHE = SMALL_JEMALLOC_DATA + 0x500,
  SMALL_JEMALLOC_BIN = SMALL_JEMALLOC_TCACHE + 8 + 4 * 24, /* of blocks of 64 bytes */
  SMALL_JEMALLOC_STACK = SMALL_JEMALLOC_STACKS + 0x100,    /* of that bin, its last place */
};

struct small_jemalloc {
  uint8_t bytes[SMALL_JEMALLOC_BYTES];
  struct hwi_region regions[SMALL_JEMALLOC_REGIONS];
  struct hwi_memory memory;
  bool is_long; /* the entries of leaves have two words, and there are three levels */
  unsigned extents;
};

static void small_jemalloc_put(struct small_jemalloc *small, uint64_t address, uint64_t word)
{
  for (int i = 0; i < SMALL_JEMALLOC_REGIONS; i++)
    if (hwi_region_has(&small->regions[i], address, sizeof word))
      memcpy(small->bytes + (small->regions[i].bytes - small->bytes) + (address - small->regions[i].begin), &word,
             sizeof word);
}

static void small_jemalloc_entry(struct small_jemalloc *small, uint64_t page, uint64_t description, uint64_t flags,
                                 uint64_t class)
{
  const uint64_t number = page / SMALL_JEMALLOC_PAGE;
  if (small->is_long) {
    small_jemalloc_put(small, SMALL_JEMALLOC_LEAF + number * 16, description);
    small_jemalloc_put(small, SMALL_JEMALLOC_LEAF + number * 16 + 8, flags | class << 5);
  } else {
    small_jemalloc_put(small, SMALL_JEMALLOC_LEAF + number * 8, description | flags | class << 48);
  }
}

static uint64_t small_jemalloc_extent(struct small_jemalloc *small, uint64_t address, unsigned pages, uint64_t state,
                                      bool is_slab, uint64_t class, uint64_t free_count)
{
  const uint64_t page = address & ~(uint64_t)(SMALL_JEMALLOC_PAGE - 1), no_class = 232;
  const uint64_t at = SMALL_JEMALLOC_DESCRIPTION + (uint64_t)small->extents++ * SMALL_JEMALLOC_DESCRIPTION_BYTES;
  const uint64_t flags = state << 2 | is_slab;
  small_jemalloc_put(small, at, (uint64_t)is_slab << 12 | state << 17 | class << 20 | free_count << 28);
  small_jemalloc_put(small, at + 8, address);
  small_jemalloc_put(small, at + 16, (uint64_t)pages * SMALL_JEMALLOC_PAGE | 7);
  small_jemalloc_entry(small, page + (pages - 1) * SMALL_JEMALLOC_PAGE, at, flags, is_slab ? class : no_class);
  small_jemalloc_entry(small, page, at, flags, class);
  return at;
}

static void small_jemalloc_base(struct small_jemalloc *small, uint64_t at, uint64_t used_bytes)
{
  small_jemalloc_put(small, at, SMALL_JEMALLOC_BASE_SYSTEM_BYTES);
  small_jemalloc_put(small, at + 24, at + used_bytes);
  small_jemalloc_put(small, at + 32, SMALL_JEMALLOC_BASE_SYSTEM_BYTES - used_bytes);
}

static void small_jemalloc_fill(struct small_jemalloc *small)
{
  enum { DIRTY = 1, RETAINED = 3, CLASS_64 = 4, CLASS_512 = 16, CLASS_16384 = 36, MAP = 64 };
  small_jemalloc_base(small, SMALL_JEMALLOC_BASE, SMALL_JEMALLOC_BASE_BYTES);
  small_jemalloc_base(small, SMALL_JEMALLOC_NODES, SMALL_JEMALLOC_NODES_BYTES);
  small_jemalloc_put(small, SMALL_JEMALLOC_ROOT, small->is_long ? SMALL_JEMALLOC_NODE : SMALL_JEMALLOC_LEAF);
  small_jemalloc_put(small, SMALL_JEMALLOC_NODE, small->is_long ? SMALL_JEMALLOC_LEAF : 0);
  small_jemalloc_put(small, small_jemalloc_extent(small, SMALL_JEMALLOC_SLAB, 1, 0, true, CLASS_64, 61) + MAP,
                     ~UINT64_C(7));
  small_jemalloc_put(small, small_jemalloc_extent(small, SMALL_JEMALLOC_STACKS, 1, 0, true, CLASS_512, 7) + MAP, 0xfe);
  small_jemalloc_extent(small, SMALL_JEMALLOC_LARGE, 5, 0, false, CLASS_16384, 0);
  small_jemalloc_extent(small, SMALL_JEMALLOC_DIRTY, 2, DIRTY, false, 0, 0);
  small_jemalloc_extent(small, SMALL_JEMALLOC_RETAINED, 4, RETAINED, false, 0, 0);
  small_jemalloc_put(small, SMALL_JEMALLOC_TCACHE, SMALL_JEMALLOC_SLOW);
  small_jemalloc_put(small, SMALL_JEMALLOC_SLOW + 32, SMALL_JEMALLOC_TCACHE + 8);
  small_jemalloc_put(small, SMALL_JEMALLOC_SLOW + 40, SMALL_JEMALLOC_BASE);
  small_jemalloc_put(small, SMALL_JEMALLOC_SLOW + 160, SMALL_JEMALLOC_STACKS);
  small_jemalloc_put(small, SMALL_JEMALLOC_SLOW + 168, SMALL_JEMALLOC_TCACHE);
  small_jemalloc_put(small, SMALL_JEMALLOC_STACKS, 0x7a7a7a7a7a7a7a7a);
  small_jemalloc_put(small, SMALL_JEMALLOC_STACK, SMALL_JEMALLOC_SLAB + 128);
  small_jemalloc_put(small, SMALL_JEMALLOC_BIN, SMALL_JEMALLOC_STACK);
  small_jemalloc_put(small, SMALL_JEMALLOC_BIN + 16, (uint64_t)(uint16_t)(SMALL_JEMALLOC_STACK + 8) << 32);
}

static void small_jemalloc_region(struct small_jemalloc *small, uint64_t begin, uint64_t known, uint64_t bytes,
                                  const char *file)
{
  const struct hwi_region *last = small->memory.region_count ? &small->regions[small->memory.region_count - 1] : NULL;
  small->regions[small->memory.region_count++] =
      (struct hwi_region){.begin = begin,
                          .end = begin + bytes,
                          .bytes = last ? last->bytes + last->known : small->bytes,
                          .known = known,
                          .is_writable = true,
                          .file = file};
}

/* `small` stays the owner of the memory, which must not be closed. */
static void small_jemalloc_make(struct small_jemalloc *small, bool is_long)
{
  memset(small, 0, sizeof *small);
  small->is_long = is_long;
  small->memory = (struct hwi_memory){.regions = small->regions, .word_bytes = sizeof(uint64_t)};
  small_jemalloc_region(small, SMALL_JEMALLOC_HEAP, SMALL_JEMALLOC_HEAP_BYTES, SMALL_JEMALLOC_HEAP_BYTES, NULL);
  small_jemalloc_region(small, SMALL_JEMALLOC_BASE, SMALL_JEMALLOC_BASE_BYTES, SMALL_JEMALLOC_BASE_SYSTEM_BYTES, NULL);
  small_jemalloc_region(small, SMALL_JEMALLOC_NODES, SMALL_JEMALLOC_NODES_BYTES, SMALL_JEMALLOC_BASE_SYSTEM_BYTES,
                        NULL);
  small_jemalloc_region(small, SMALL_JEMALLOC_DATA, SMALL_JEMALLOC_DATA_BYTES, SMALL_JEMALLOC_DATA_BYTES,
                        "/lib/libjemalloc.so.2");
  small_jemalloc_fill(small);
}

#endif
