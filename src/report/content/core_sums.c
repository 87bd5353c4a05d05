/* core_sums.c - the figures of the heap of a core dump */
#include "report/content/core_sums.h"

static void add(struct hwi_core_heap_sum *to, const struct hwi_core_heap_sum *sum)
{
  to->blocks += sum->blocks;
  to->bytes += sum->bytes;
}

static void add_part(struct hwi_core_sums *sums, const struct hwi_core_heap_part *part)
{
  add(&sums->live, &part->sums[HWI_CORE_BLOCK_LIVE]);
  add(&sums->own, &part->sums[HWI_CORE_BLOCK_OWN]);
  add(&sums->cached, &part->sums[HWI_CORE_BLOCK_CACHED]);
  add(&sums->free, &part->sums[HWI_CORE_BLOCK_FREE]);
  add(&sums->top, &part->sums[HWI_CORE_BLOCK_TOP]);
  sums->understood_bytes += part->understood_bytes;
  if (part->is_nested)
    sums->understood_bytes -= part->system_bytes; /* which the part around it counts as understood */
  else
    sums->system_bytes += part->system_bytes;
}

struct hwi_core_sums hwi_core_sums_of_part(const struct hwi_core_heap_part *part)
{
  struct hwi_core_heap_part alone = *part;
  struct hwi_core_sums sums = {0};
  alone.is_nested = false;
  add_part(&sums, &alone);
  return sums;
}

struct hwi_core_sums hwi_core_sums_of(const struct hwi_core *core)
{
  struct hwi_core_sums sums = {0};
  for (size_t i = 0; i < core->heap->part_count; i++)
    add_part(&sums, &core->heap->parts[i]);
  return sums;
}

double hwi_core_understood_percent(const struct hwi_core_sums *sums)
{
  static const double nearly_all = 99.9;
  if (sums->understood_bytes == sums->system_bytes)
    return 100;
  const uint64_t less = sums->understood_bytes < sums->system_bytes ? sums->understood_bytes : sums->system_bytes;
  const uint64_t more = sums->understood_bytes + sums->system_bytes - less;
  const double percent = 100.0 * (double)less / (double)more;
  return percent < nearly_all ? percent : nearly_all;
}
