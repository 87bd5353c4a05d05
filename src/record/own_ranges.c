/* own_ranges.c - lists the recorder's mappings that have words of the program */
#include "record/own_ranges.h"

#include "record/growing_table.h"

struct hwi_own_memory hwi_own_memory = {.mark = HWI_OWN_MEMORY_MARK};
static struct hwi_growing_table table;

static void set(struct hwi_own_range *range, const void *start, size_t bytes)
{
  __atomic_store_n(&range->bytes, 0, __ATOMIC_RELEASE);
  __atomic_store_n(&range->start, (uintptr_t)start, __ATOMIC_RELEASE);
  __atomic_store_n(&range->bytes, bytes, __ATOMIC_RELEASE);
}

static struct hwi_own_range *find(const void *start)
{
  const uint64_t count = start ? __atomic_load_n(&hwi_own_memory.count, __ATOMIC_ACQUIRE) : 0;
  for (uint64_t i = 0; i < count; i++)
    if (__atomic_load_n(&hwi_own_memory.ranges[i].start, __ATOMIC_ACQUIRE) == (uintptr_t)start)
      return &hwi_own_memory.ranges[i];
  return NULL;
}

void hwi_own_ranges_add(const void *start, size_t bytes, const void *old)
{
  struct hwi_own_range *range = find(old);
  if (range) {
    set(range, start, bytes);
    return;
  }
  uint64_t count = __atomic_load_n(&hwi_own_memory.count, __ATOMIC_ACQUIRE);
  do {
    struct hwi_own_range *ranges =
        hwi_growing_table_use(&table, (count + 1) * sizeof *ranges, HWI_OWN_MEMORY_MAX * sizeof *ranges);
    if (!ranges)
      return;
    __atomic_store_n(&hwi_own_memory.ranges, ranges, __ATOMIC_RELEASE);
    range = &ranges[count];
  } while (!__atomic_compare_exchange_n(&hwi_own_memory.count, &count, count + 1, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE));
  set(range, start, bytes);
}
