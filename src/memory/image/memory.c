/* memory.c - the regions of a process's memory */
#include "memory/image/memory.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "trace/grow.h"

const struct hwi_region *hwi_memory_region_from(const struct hwi_memory *memory, uint64_t address)
{
  size_t low = 0, high = memory->region_count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (memory->regions[middle].end <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low < memory->region_count ? &memory->regions[low] : NULL;
}

const struct hwi_region *hwi_memory_region(const struct hwi_memory *memory, uint64_t address)
{
  const struct hwi_region *found = hwi_memory_region_from(memory, address);
  return found && found->begin <= address ? found : NULL;
}

bool hwi_memory_knows_files(const struct hwi_memory *memory)
{
  for (size_t i = 0; i < memory->region_count; i++)
    if (memory->regions[i].file)
      return true;
  return false;
}

bool hwi_memory_is_data(const struct hwi_memory *memory, size_t region, bool knows_files)
{
  const struct hwi_region *one = &memory->regions[region];
  return one->is_writable && (!knows_files || one->file || hwi_region_is_behind_file(memory, one));
}

uint64_t hwi_memory_known_bytes(const struct hwi_memory *memory)
{
  uint64_t known = 0;
  for (size_t i = 0; i < memory->region_count; i++)
    known += memory->regions[i].known;
  return known;
}

uint64_t hwi_memory_unknown_count(struct hwi_memory_reader *reader, uint64_t address, uint64_t bytes)
{
  if (hwi_memory_bytes(reader, address, bytes))
    return 0;
  const struct hwi_region *region = hwi_memory_region_from(reader->memory, address);
  if (!region)
    return UINT64_MAX;
  const uint64_t next = region->begin > address ? region->begin : region->end;
  return (next - address + bytes - 1) / bytes;
}

bool hwi_memory_add_region(struct hwi_memory *memory, const struct hwi_region *region)
{
  if (!hwi_grow((void **)&memory->regions, &memory->region_capacity, memory->region_count + 1, sizeof *region))
    return false;
  memory->regions[memory->region_count++] = *region;
  return true;
}

static int compare(const void *a, const void *b)
{
  const struct hwi_region *x = a, *y = b;
  return x->begin < y->begin ? -1 : x->begin > y->begin;
}

void hwi_memory_finish(struct hwi_memory *memory)
{
  size_t kept = 0;
  if (memory->region_count)
    qsort(memory->regions, memory->region_count, sizeof *memory->regions, compare);
  for (size_t i = 0; i < memory->region_count; i++) {
    struct hwi_region *region = &memory->regions[i];
    if (kept && region->begin < memory->regions[kept - 1].end)
      continue; /* only a forged file has two contents of one address */
    memory->regions[kept++] = *region;
  }
  memory->region_count = kept;
}

void hwi_memory_note(struct hwi_memory *memory, uint64_t bytes, unsigned filter, const char *text)
{
  if (memory->note_count < HWI_MEMORY_NOTES_MAX)
    memory->notes[memory->note_count++] = (struct hwi_memory_note){bytes, filter, text};
}

void hwi_memory_close(struct hwi_memory *memory)
{
  free(memory->regions);
  free(memory->threads);
  free(memory->names);
  if (memory->mapped)
    munmap(memory->mapped, memory->mapped_bytes);
  *memory = (struct hwi_memory){0};
}
