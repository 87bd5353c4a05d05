/* jemalloc.c - the heap of jemalloc */
#include "memory/heaps/jemalloc/jemalloc.h"

#include <stdlib.h>

#include "memory/heaps/inside.h"
#include "trace/table.h"

uint64_t hwi_jemalloc_class_bytes(uint64_t quantum, unsigned class)
{
  enum { LEAST_BYTES = 8, GROUP = 4 /* sizes between two powers of two */, CLASSES = 232 };
  if (class >= CLASSES)
    return 0;
  if (quantum > LEAST_BYTES && class -- == 0)
    return LEAST_BYTES;
  const unsigned group = class / GROUP, place = class % GROUP + 1;
  return group == 0 ? quantum * place : (quantum << (group + 1)) + (quantum << (group - 1)) * place;
}

static void limit_work(struct hwi_jemalloc *jemalloc)
{
  enum { STEPS_LEAST = 1 << 20, BYTES_OF_STEP = 4, BYTES_OF_BLOCK = 8 };
  const uint64_t known = hwi_memory_known_bytes(jemalloc->memory);
  jemalloc->steps_left = STEPS_LEAST + known / BYTES_OF_STEP;
  jemalloc->blocks_left = known / BYTES_OF_BLOCK;
}

static bool find_threads(struct hwi_jemalloc *jemalloc)
{
  struct hwi_inside inside;
  const bool done = hwi_inside_find(&inside, jemalloc->memory, "/libjemalloc");
  jemalloc->is_changing = inside.count;
  hwi_inside_release(&inside);
  return done;
}

static bool take_all(struct hwi_jemalloc *jemalloc, struct hwi_core_heap *heap)
{
  return find_threads(jemalloc) && hwi_jemalloc_find_extents(jemalloc, heap) && hwi_jemalloc_find_kept(jemalloc) &&
         hwi_jemalloc_take_blocks(jemalloc, heap) && hwi_jemalloc_take_bases(jemalloc, heap);
}

/* If another allocator is found, this is damage, else the error. */
static int refuse(struct hwi_core_heap *heap, uint64_t at, struct hwi_error *error)
{
  static const char text[] =
      "jemalloc is there, but not version 5.3 with pages of 4096 bytes, the only one that is read";
  hwi_core_heap_note_damage(heap, at, "%s", text);
  return hwi_error_set(error, HW_ERR_USAGE, "%s", text);
}

int hwi_jemalloc_find(struct hwi_core_heap *heap, const struct hwi_memory *memory, struct hwi_error *error)
{
  struct hwi_jemalloc jemalloc = {
      .memory = memory, .reader = {.memory = memory}, .nodes = {.memory = memory}, .descriptions = {.memory = memory}};
  int status = HW_ERR_USAGE;
  limit_work(&jemalloc);
  if (memory->word_bytes != sizeof(uint64_t))
    return status;
  bool done = hwi_jemalloc_find_bases(&jemalloc);
  if (done && jemalloc.base_count) {
    if (hwi_jemalloc_find_tree(&jemalloc)) {
      status = 0;
      done = take_all(&jemalloc, heap);
    } else {
      status = refuse(heap, jemalloc.bases[0].begin, error);
    }
  }
  free(jemalloc.bases);
  hwi_table_release(jemalloc.extents, jemalloc.extent_capacity * sizeof *jemalloc.extents);
  hwi_kept_release(&jemalloc.kept);
  return done ? status : hwi_error_set(error, HW_ERR_MEMORY, "no memory for the list of blocks; use a larger machine");
}
