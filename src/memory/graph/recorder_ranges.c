/* recorder_ranges.c - memory of the recorder in a process that is recorded */
#include "memory/graph/recorder_ranges.h"

#include <stddef.h>

#include "base/base_name.h"
#include "base/own_memory.h"

static bool is_data_of_recorder(const struct hwi_region *region)
{
  static const char name[] = "libheapwright-record";
  return region->file && region->is_writable && strstr(hwi_base_name(region->file), name);
}

/* Returns the address of the list, or 0. */
static uint64_t find_list(const struct hwi_region *region)
{
  const size_t step = sizeof(uint64_t);
  for (uint64_t off = 0; off + sizeof(struct hwi_own_memory) <= region->known; off += step)
    if (memcmp(region->bytes + off, HWI_OWN_MEMORY_MARK, HWI_OWN_MEMORY_MARK_BYTES) == 0)
      return region->begin + off;
  return 0;
}

static void each_of_list(const struct hwi_memory *memory, uint64_t list,
                         bool (*add)(void *context, uint64_t begin, uint64_t end), void *context)
{
  struct hwi_memory_reader reader = {.memory = memory};
  uint64_t at, count, start, bytes;
  if (!hwi_memory_word(&reader, list + offsetof(struct hwi_own_memory, ranges), &at) ||
      !hwi_memory_word(&reader, list + offsetof(struct hwi_own_memory, count), &count) || count > HWI_OWN_MEMORY_MAX)
    return;
  for (uint64_t i = 0; i < count; i++, at += sizeof(struct hwi_own_range))
    if (!hwi_memory_word(&reader, at + offsetof(struct hwi_own_range, start), &start) ||
        !hwi_memory_word(&reader, at + offsetof(struct hwi_own_range, bytes), &bytes) || start + bytes < start ||
        !add(context, start, start + bytes))
      return;
}

void hwi_recorder_ranges(const struct hwi_memory *memory, bool (*add)(void *context, uint64_t begin, uint64_t end),
                         void *context)
{
  if (memory->word_bytes != sizeof(uint64_t))
    return; /* the recorder is of processes with 64 bits alone */
  for (size_t i = 0; i < memory->region_count; i++) {
    const uint64_t list = is_data_of_recorder(&memory->regions[i]) ? find_list(&memory->regions[i]) : 0;
    if (list)
      each_of_list(memory, list, add, context);
  }
}
