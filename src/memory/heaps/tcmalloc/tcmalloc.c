/* tcmalloc.c - the heap of tcmalloc */
#include "memory/heaps/tcmalloc/tcmalloc.h"

static void limit_work(struct hwi_tcmalloc *tcmalloc)
{
  enum { STEPS_LEAST = 1 << 20, BYTES_OF_STEP = 4, BYTES_OF_BLOCK = 8 };
  const uint64_t known = hwi_memory_known_bytes(tcmalloc->memory);
  tcmalloc->steps_left = STEPS_LEAST + known / BYTES_OF_STEP;
  tcmalloc->blocks_left = known / BYTES_OF_BLOCK;
}

/* If another allocator is found, this is damage, else the error. */
static int refuse(struct hwi_core_heap *heap, uint64_t at, const char *text, struct hwi_error *error)
{
  hwi_core_heap_note_damage(heap, at, "%s", text);
  return hwi_error_set(error, HW_ERR_USAGE, "%s", text);
}

/* Returns the begin of the library with headers around blocks, or 0. */
static uint64_t find_debug_library(const struct hwi_memory *memory)
{
  for (size_t i = 0; i < memory->region_count; i++) {
    const char *file = memory->regions[i].file;
    if (file && (strstr(file, "/libtcmalloc_debug.") || strstr(file, "/libtcmalloc_minimal_debug.")))
      return memory->regions[i].begin;
  }
  return 0;
}

int hwi_tcmalloc_find(struct hwi_core_heap *heap, const struct hwi_memory *memory, struct hwi_error *error)
{
  struct hwi_tcmalloc tcmalloc = {.memory = memory,
                                  .reader = {.memory = memory},
                                  .nodes = {.memory = memory},
                                  .spans = {.memory = memory},
                                  .blocks = {.memory = memory}};
  const uint64_t debug = find_debug_library(memory);
  limit_work(&tcmalloc);
  if (debug)
    return refuse(
        heap, debug,
        "tcmalloc's library for debugging is there (libtcmalloc_debug): it puts headers around blocks, which are "
        "not read; run the program with libtcmalloc",
        error);
  if (memory->word_bytes != sizeof(uint64_t) || !hwi_tcmalloc_find_classes(&tcmalloc))
    return HW_ERR_USAGE;
  if (!hwi_tcmalloc_find_central(&tcmalloc) || !hwi_tcmalloc_find_map(&tcmalloc))
    return refuse(heap, tcmalloc.classes,
                  "tcmalloc is there, but not like that of gperftools 2.10, the only version that is read", error);
  hwi_tcmalloc_find_library(&tcmalloc);
  const bool done = hwi_tcmalloc_find_kept(&tcmalloc) && hwi_tcmalloc_take_spans(&tcmalloc, heap);
  hwi_kept_release(&tcmalloc.kept);
  return done ? 0 : hwi_error_set(error, HW_ERR_MEMORY, "no memory for the list of blocks; use a larger machine");
}
