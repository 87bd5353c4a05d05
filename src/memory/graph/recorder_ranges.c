/* recorder_ranges.c - memory of the recorder in a process that is recorded */
#include "memory/graph/recorder_ranges.h"

#include <stddef.h>

#include "memory/image/recorder_memory.h"

static void each_of_list(const struct hwi_memory *memory, const struct hwi_own_memory *own,
                         bool (*add)(void *context, uint64_t begin, uint64_t end), void *context)
{
  struct hwi_memory_reader reader = {.memory = memory};
  uint64_t at = (uintptr_t)own->ranges, start, bytes;
  for (uint64_t i = 0; i < own->count && i < HWI_OWN_MEMORY_MAX; i++, at += sizeof(struct hwi_own_range))
    if (!hwi_memory_word(&reader, at + offsetof(struct hwi_own_range, start), &start) ||
        !hwi_memory_word(&reader, at + offsetof(struct hwi_own_range, bytes), &bytes) || start + bytes < start ||
        !add(context, start, start + bytes))
      return;
}

void hwi_recorder_ranges(const struct hwi_memory *memory, bool (*add)(void *context, uint64_t begin, uint64_t end),
                         void *context)
{
  struct hwi_own_memory own;
  for (size_t region = 0; hwi_recorder_memory_next(memory, &region, &own);)
    each_of_list(memory, &own, add, context);
}
