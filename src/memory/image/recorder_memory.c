/* recorder_memory.c - what a recorder has in the memory of the process that it records */
#include "memory/image/recorder_memory.h"

#include "base/base_name.h"

static bool is_data_of_recorder(const struct hwi_region *region)
{
  static const char name[] = "libheapwright-record";
  return region->file && region->is_writable && strstr(hwi_base_name(region->file), name);
}

static bool find_in(const struct hwi_region *region, struct hwi_own_memory *own)
{
  for (uint64_t off = 0; off + sizeof *own <= region->known; off += sizeof(uint64_t))
    if (memcmp(region->bytes + off, HWI_OWN_MEMORY_MARK, HWI_OWN_MEMORY_MARK_BYTES) == 0) {
      memcpy(own, region->bytes + off, sizeof *own);
      return true;
    }
  return false;
}

bool hwi_recorder_memory_next(const struct hwi_memory *memory, size_t *region, struct hwi_own_memory *own)
{
  if (memory->word_bytes != sizeof(uint64_t) || memory->swaps_bytes)
    return false; /* the recorder is of processes with 64 bits alone */
  while (*region < memory->region_count) {
    const struct hwi_region *of = &memory->regions[(*region)++];
    if (is_data_of_recorder(of) && find_in(of, own))
      return true;
  }
  return false;
}
