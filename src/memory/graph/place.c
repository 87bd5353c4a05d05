/* place.c - names the place of a word: a register, a stack, data of a module, a block */
#include <inttypes.h>
#include <stdio.h>

#include "memory/graph/scan.h"

enum {
  LOCAL_BYTES = 65536,     /* below a thread pointer, or above it, that may be thread-local storage */
  DESCRIPTOR_BYTES = 4096, /* on the other side: the C library's own description of the thread */
};

static bool place_in_block(const struct hwi_graph *graph, struct hwi_core_place *place)
{
  const struct hwi_index_span *span = NULL;
  place->block = hwi_block_index_find(&graph->index, &span, place->address);
  if (place->block == HWI_NO_BLOCK)
    return false;
  place->off = place->address - graph->heap->blocks[place->block].address;
  place->kind = hwi_scan_is_live(graph, place->block)   ? HWI_CORE_PLACE_BLOCK
                : hwi_scan_is_free(graph, place->block) ? HWI_CORE_PLACE_FREED
                                                        : HWI_CORE_PLACE_OWN;
  return true;
}

/* --- modules --- */

static bool is_same_file(const struct hwi_region *a, const struct hwi_region *b)
{
  return a->file && b->file && (a->file == b->file || strcmp(a->file, b->file) == 0);
}

/* Where the module's file begins in memory. */
static uint64_t base_of(const struct hwi_memory *memory, const struct hwi_region *region)
{
  for (size_t i = (size_t)(region - memory->regions) + 1; i-- > 0;)
    if (memory->regions[i].file_off == 0 && is_same_file(&memory->regions[i], region))
      return memory->regions[i].begin;
  return region->file_off <= region->begin ? region->begin - region->file_off : region->begin;
}

static bool place_in_module(const struct hwi_graph *graph, const struct hwi_region *region,
                            struct hwi_core_place *place)
{
  const struct hwi_memory *memory = graph->memory;
  if (!region->file && hwi_region_is_behind_file(memory, region))
    region--;
  if (!region->file)
    return false;
  place->kind = HWI_CORE_PLACE_MODULE;
  place->file = region->file;
  place->off = place->address - base_of(memory, region);
  return true;
}

/* --- threads --- */

/* The thread whose stack pointer is the nearest one at or below the address, or else the nearest one above. */
static bool place_in_stack(const struct hwi_memory *memory, const struct hwi_region *region,
                           struct hwi_core_place *place)
{
  bool is_found = false;
  for (size_t i = 0; i < memory->thread_count; i++) {
    const uint64_t pointer = memory->threads[i].stack_pointer;
    if (pointer < region->begin || pointer >= region->end)
      continue;
    const bool is_below = place->address < pointer;
    const uint64_t off = is_below ? pointer - place->address : place->address - pointer;
    if (is_found && (is_below ? place->kind == HWI_CORE_PLACE_STACK || off >= place->off
                              : place->kind == HWI_CORE_PLACE_STACK && off >= place->off))
      continue;
    is_found = true;
    place->kind = is_below ? HWI_CORE_PLACE_BELOW : HWI_CORE_PLACE_STACK;
    place->thread = i;
    place->off = off;
  }
  if (is_found && place->kind == HWI_CORE_PLACE_STACK) {
    const uint64_t below = memory->threads[place->thread].thread_pointer - place->address;
    const bool is_above = hwi_thread_local_is_above(&memory->threads[place->thread]);
    place->local_off = (is_above ? -below : below) <= LOCAL_BYTES ? below : 0;
  }
  return is_found;
}

static bool place_in_local(const struct hwi_memory *memory, const struct hwi_region *region,
                           struct hwi_core_place *place)
{
  for (size_t i = 0; i < memory->thread_count; i++) {
    const uint64_t pointer = memory->threads[i].thread_pointer;
    const uint64_t below = hwi_thread_local_is_above(&memory->threads[i]) ? DESCRIPTOR_BYTES : LOCAL_BYTES;
    if (pointer < region->begin || pointer >= region->end ||
        place->address - (pointer - below) >= LOCAL_BYTES + DESCRIPTOR_BYTES)
      continue;
    place->kind = HWI_CORE_PLACE_LOCAL;
    place->thread = i;
    place->local_off = pointer - place->address;
    return true;
  }
  return false;
}

static void place_in_ended(const struct hwi_graph *graph, struct hwi_core_place *place)
{
  for (size_t i = 0; i < graph->root_count; i++)
    if (graph->roots[i].is_below && place->address - graph->roots[i].address < graph->roots[i].count) {
      place->kind = HWI_CORE_PLACE_ENDED;
      return;
    }
}

void hwi_graph_place(const struct hwi_graph *graph, uint64_t address, struct hwi_core_place *place)
{
  *place = (struct hwi_core_place){.kind = HWI_CORE_PLACE_MAPPED, .address = address, .block = HWI_NO_BLOCK};
  const struct hwi_memory *memory = graph->memory;
  if (place_in_block(graph, place))
    return;
  const struct hwi_region *region = hwi_memory_region(memory, address);
  if (!region)
    place->kind = HWI_CORE_PLACE_UNKNOWN;
  else if (!place_in_module(graph, region, place) && !place_in_stack(memory, region, place) &&
           !place_in_local(memory, region, place))
    place_in_ended(graph, place);
}

/* --- as text --- */

const char *hwi_core_register_name(const struct hwi_memory_thread *thread, unsigned reg)
{
  if (reg >= HWI_THREAD_REGISTERS)
    return "(vector)";
  return thread->machine && reg < thread->machine->register_count ? thread->machine->names[reg] : NULL;
}

void hwi_core_place_text(const struct hwi_graph *graph, const struct hwi_core_place *place, char *text, size_t size)
{
  const struct hwi_memory_thread *thread =
      place->thread < graph->memory->thread_count ? &graph->memory->threads[place->thread] : NULL;
  const uint32_t tid = thread ? thread->tid : 0;
  const char *name = thread ? hwi_core_register_name(thread, place->reg) : NULL;
  switch (place->kind) {
  case HWI_CORE_PLACE_REGISTER:
    snprintf(text, size, name ? "register %s of thread %" PRIu32 : "a register (%s) of thread %" PRIu32,
             name ? name : "no name", tid);
    return;
  case HWI_CORE_PLACE_STACK:
    snprintf(text, size,
             place->local_off ? "stack of thread %" PRIu32 " at sp+%#" PRIx64
                                " (or thread-local storage at tp-%#" PRIx64 ")"
                              : "stack of thread %" PRIu32 " at sp+%#" PRIx64,
             tid, place->off, place->local_off);
    return;
  case HWI_CORE_PLACE_BELOW:
    snprintf(text, size, "below the stack of thread %" PRIu32 " at sp-%#" PRIx64, tid, place->off);
    return;
  case HWI_CORE_PLACE_ENDED:
    snprintf(text, size, "stack of a thread that has ended, at %#" PRIx64, place->address);
    return;
  case HWI_CORE_PLACE_LOCAL:
    snprintf(text, size, "thread-local storage of thread %" PRIu32 " at tp%c%#" PRIx64, tid,
             (int64_t)place->local_off < 0 ? '+' : '-',
             (int64_t)place->local_off < 0 ? -place->local_off : place->local_off);
    return;
  case HWI_CORE_PLACE_MODULE:
    snprintf(text, size, "data of %s+%#" PRIx64, place->file, place->off);
    return;
  case HWI_CORE_PLACE_BLOCK:
  case HWI_CORE_PLACE_FREED:
  case HWI_CORE_PLACE_OWN:
    snprintf(text, size, "%s %#" PRIx64 "+%#" PRIx64,
             place->kind == HWI_CORE_PLACE_BLOCK   ? "block"
             : place->kind == HWI_CORE_PLACE_FREED ? "free block"
                                                   : "the allocator's block",
             place->address - place->off, place->off);
    return;
  case HWI_CORE_PLACE_MAPPED:
    snprintf(text, size, "mapped memory at %#" PRIx64, place->address);
    return;
  case HWI_CORE_PLACE_UNKNOWN:
    break;
  }
  snprintf(text, size, "not in this memory");
}
